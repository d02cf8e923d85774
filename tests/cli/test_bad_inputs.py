"""What people get wrong on the command line: each ends with exit code 2, a message that helps, no traceback."""

import pytest

# Arguments, and what the message must say.
BAD = [
    # no file, not a file, not data
    (["estimate", "no.csv", "--by", "city"], "there is no file 'no.csv'"),
    (["estimate", "sub", "--by", "city"], "'sub' is a folder; give a file"),
    (["estimate", "empty.csv", "--by", "city"], "empty.csv is empty"),
    (["estimate", "blank.csv", "--by", "city"], "nothing but empty lines"),
    (["estimate", "header.csv", "--by", "city"], "0 rows"),
    (["estimate", "numbers.csv", "--by", "1"], "the first line holds numbers (1, 2, 3), not names"),
    (["estimate", "ragged.csv", "--by", "city"], "not a clean table: Expected 2 fields in line 3, saw 4"),
    (["estimate", "latin.csv", "--by", "city"], "not utf-8; save it as UTF-8, or give its encoding"),
    (["estimate", "clean.csv", "--by", "city", "--encoding", "klingon"], "unknown encoding: klingon"),
    (["estimate", "broken.parquet", "--by", "city"], "cannot be read"),
    (["estimate", "broken.npz", "--by", "city"], "cannot be read"),
    (["estimate", "broken.csv.gz", "--by", "city"], "cannot be read"),
    (["estimate", "-", "--by", "city"], "standard input is empty"),
    (["estimate", "/dev/null", "--by", "city"], "/dev/null is empty"),
    (["estimate", "many.csv", "--by", "city"], "there are 2 column names (city, warm), but the rows have 4 fields"),
    (["estimate", "wide.csv", "--by", "city"], "give its encoding, --encoding utf-16"),
    (["estimate", "records.json", "--by", "city"], "this is not a table but JSON"),
    (["estimate", "lines.jsonl", "--by", "city"], "this is not a table but JSON"),
    (["estimate", "page.csv", "--by", "city"], "this is not a table but a web page"),
    (["estimate", "frame.pkl", "--by", "city"], "this is not a table but a pickle"),
    (["estimate", "one.npy", "--by", "city"], "this is not a table but a single NumPy array"),
    (["estimate", "nothing.zip", "--by", "city"], "an archive with nothing in it"),
    (["estimate", "nothing.npz", "--by", "city"], "an archive with nothing in it"),
    (["estimate", "book.xlsx", "--by", "city"], "this is not a table but an Excel workbook"),
    (["estimate", "clean.csv", "--by", "city", "--separator", ",,"], "--separator must be one character; found ',,'"),
    (["estimate", "clean.csv", "--by", "city", "--separator", ""], "--separator must be one character; found ''"),
    (["estimate", "clean.csv", "--by", "city", "--decimal", ",,"], "--decimal must be one character; found ',,'"),
    # columns
    (["estimate", "clean.csv"], "say which column holds the bags, with --by. Columns: city, day"),
    (["estimate", "clean.csv", "--by", "City"], "there is no column 'City'. Did you mean 'city'?"),
    (["estimate", "clean.csv", "--by", "xyz"], "there is no column 'xyz'. Columns:"),
    (["estimate", "clean.csv", "--by", ","], "',' names no column. Columns: 'city'"),
    (["estimate", "clean.csv", "--by", "city", "-c", ","], "',' names no column. Columns: 'city'"),
    (["estimate", "clean.csv", "--by", "city", "-c", "wrm"], "Did you mean 'warm'?"),
    (["estimate", "clean.csv", "--by", "city", "-c", "rain_*"], "no column fits 'rain_*'"),
    (["estimate", "clean.csv", "--by", "city", "-c", "weather"], "holds text ('sun'), not numbers; count its categories with --one-hot"),
    (["estimate", "clean.csv", "--by", "city", "-c", "day"], "holds dates ('2024-01-01'), not numbers"),
    (["estimate", "clean.csv", "--by", "city", "-c", "city"], "'city' holds the labels (--by)"),
    (["estimate", "clean.csv", "--by", "city", "--one-hot", "wether"], "Did you mean 'weather'?"),
    (["estimate", "text.csv", "--by", "city"], "no column of numbers is left"),
    (["estimate", "clean.csv", "--by", "city", "--separator", ";"], "there is no column 'city'"),
    # values
    (["estimate", "gap.csv", "--by", "city"], "row 17 has no value in column 'warm'"),
    (["estimate", "gap.csv", "--by", "city"], "--drop-missing"),
    (["estimate", "unlabeled.csv", "--by", "city"], "row 4 has no value in column 'city'"),
    (["estimate", "hollow.csv", "--by", "city", "-c", "warm", "--drop-missing"], "no row is complete; 'warm'"),
    (["estimate", "stray.csv", "--by", "city"], "row 8 of column 'warm' holds 'n.a.', not a number"),
    (["estimate", "infinite.csv", "--by", "city"], "holds inf in column 'warm', which has no mean"),
    (["estimate", "huge.csv", "--by", "city"], "row 2 (rows count from 1 below the names) holds 1e+200 in column 'warm'; beyond"),
    (["estimate", "huge.npz", "--by", "y"], "bag 1 (index 1) holds -1e+300 in column 'x0'"),
    (["estimate", "commas.csv", "--by", "city"], "column 'warm' holds numbers with commas ('1,5'). If the comma is the decimal point, say so with --decimal ,"),
    # bags
    (["estimate", "single.csv", "--by", "city"], "has 1 row; its variance needs at least 2. Leave out such bags with --min-size 2"),
    (["neighbors", "single.csv", "--by", "city"], "--min-size 2"),
    (["estimate", "clean.csv", "--by", "city", "--min-size", "11"], "no bag has 11 rows; the largest has 10"),
    (["estimate", "clean.csv", "--by", "city", "--min-size", "0"], "Invalid value for '--min-size'"),
    (["estimate", "constant.csv", "--by", "city", "-k", "rbf"], "gives bandwidth 0 on these data"),
    # arrays
    (["estimate", "arrays.npz"], "holds the arrays X, y, z; say which array holds the labels, with --by"),
    (["estimate", "arrays.npz", "--by", "q"], "there is no array 'q' in arrays.npz"),
    (["estimate", "arrays.npz", "--by", "y"], "which array of arrays.npz is the data?"),
    (["estimate", "short.npz", "--by", "y"], "X has 4 rows, but groups has 3 labels"),
    (["estimate", "objects.npz", "--by", "y"], "Object arrays cannot be loaded"),
    (["estimate", "arrays.npz", "--by", "y", "--drop-missing"], "are for tables"),
    (["estimate", "arrays.npz", "--by", "y", "--by", "z"], "one array of an NPZ file holds the labels"),
    # method
    (["estimate", "clean.csv", "--by", "city", "--kernel", "rfb"], "Invalid value for '--kernel'"),
    (["estimate", "clean.csv", "--by", "city", "--method", "best"], "Invalid value for '--method'"),
    (["estimate", "clean.csv", "--by", "city", "-k", "rbf", "--bandwidth", "wide"], "--bandwidth must be a positive number, 'median' or 'std'; found 'wide'"),
    (["estimate", "clean.csv", "--by", "city", "-k", "rbf", "--bandwidth", "-1"], "bandwidth must be a positive number"),
    (["estimate", "clean.csv", "--by", "city", "-k", "rbf", "--bandwidth", "1e-300"], "--bandwidth 1e-300 is out of reach"),
    (["estimate", "clean.csv", "--by", "city", "-k", "laplacian", "--bandwidth", "1e200"], "--bandwidth 1e+200 is out of reach"),
    (["estimate", "clean.csv", "--by", "city", "--bandwidth", "3"], "--bandwidth has no meaning for the kernel linear"),
    (["mmd", "clean.csv", "--by", "city", "--degree", "2"], "--degree has no meaning for the kernel rbf"),
    (["estimate", "clean.csv", "--by", "city", "-k", "polynomial", "--degree", "900"], "degree 900 overflows on these data"),
    (["estimate", "clean.csv", "--by", "city", "-k", "polynomial", "--degree", "300"], "degree 300 overflows on these data"),
    (["estimate", "clean.csv", "--by", "city", "-k", "polynomial", "--degree", "0"], "Invalid value for '--degree'"),
    (["estimate", "clean.csv", "--by", "city", "--zeta", "-1"], "Invalid value for '--zeta'"),
    (["estimate", "clean.csv", "--by", "city", "--method", "stb", "--gamma", "2"], "--gamma must be between 0 and 1"),
    (["estimate", "clean.csv", "--by", "city", "--method", "naive", "--zeta", "1"], "--zeta has no meaning for the method naive"),
    (["estimate", "clean.csv", "--by", "city", "--method", "mta", "--zeta", "1"], "for the method mta; it is for stb, stb-0, stb-theory and mta-stb."),
    (["estimate", "clean.csv", "--by", "city", "--method", "stb-0", "--gamma", "1"], "for the method stb-0; it is for stb, mta and mta-stb."),
    (["estimate", "clean.csv", "--by", "city", "-k", "rbf", "--method", "james-stein"], "james-stein needs vectors"),
    (["mmd", "clean.csv", "--by", "city", "--alpha", "1.5"], "--alpha must be above 0 and below 1"),
    (["mmd", "clean.csv", "--by", "city", "--correction", "magic"], "Invalid value for '--correction'"),
    (["mmd", "clean.csv", "--by", "city", "-o", "-", "--json"], "both want standard output"),
    (["mmd", "three.csv", "--by", "city"], "has 3 rows; a p-value by chi-square needs at least 4. Leave out such bags with --min-size 4; or use --pvalues permutation"),
    (["mmd", "four.csv", "--by", "city"], "chi-square needs a bag of 6 rows"),
    (["mmd", "one.csv", "--by", "city"], "there is only one bag; a comparison needs two"),
    # output
    (["estimate", "clean.csv", "--by", "city", "-o", "old.csv"], "old.csv exists already; --force replaces it"),
    (["estimate", "clean.csv", "--by", "city", "-o", "clean.csv", "--force"], "clean.csv is the data itself"),
    (["estimate", "clean.csv", "--by", "city", "-o", "new.cvs"], "must end in .csv"),
    (["estimate", "clean.csv", "--by", "city", "-o", "no/new.csv"], "there is no folder 'no'; make it first"),
    (["estimate", "clean.csv", "--by", "city", "--plot", "x.docx"], "must end in .png, .pdf, .svg"),
    (["estimate", "clean.csv", "--by", "city", "--report", "x.pdf"], "must end in .html"),
    (["estimate", "clean.csv", "--by", "city", "--gram", "-"], "only a table can go to standard output"),
    (["estimate", "clean.csv", "--by", "city", "-o", "x.npz", "--gram", "x.npz"], "both name x.npz"),
    (["estimate", "clean.csv", "--by", "city", "-o", "-", "--json"], "both want standard output"),
    (["estimate", "clean.csv", "--by", "city", "-k", "rbf", "-m", "skmse", "--plot", "x.png"], "there is nothing to draw"),
    (["neighbors", "clean.csv", "--by", "city", "-o", "old.csv"], "--force replaces it"),
    (["neighbors", "clean.csv", "--by", "city", "-o", "-", "--json"], "both want standard output"),
    (["demo", "--trials", "2", "--out", "old.png"], "old.png exists already; --force replaces it"),
    (["demo", "--trials", "2", "--out", "x.txt"], "must end in .png, .pdf, .svg"),
    (["demo", "--trials", "2", "--out", "-"], "--out needs a file"),
    (["demo", "--trials", "2", "--out", "no/x.png"], "there is no folder 'no'; make it first"),
    (["bench", "--quick", "--out", "old.png"], "old.png exists already; --force replaces it"),
    (["bench", "--quick", "--out", "x.csv"], "must end in .png, .pdf, .svg"),
    # the rest of the command line
    (["estimat", "clean.csv"], "Did you mean 'estimate'?"),
    (["estimate", "clean.csv", "--by", "city", "--seeed", "1"], "--seed"),
    (["estimate"], "Missing argument"),
    (["demo", "--dataset", "nope"], "there is no data set 'nope'"),
    (["demo", "--trials", "1"], "Invalid value for '--trials'"),
    (["bound"], "Pass --tau"),
    (["bound", "--tau", "0.1"], "Pass --neighbors"),
    (["bound", "--tau", "-1", "--neighbors", "3"], "tau"),
    (["threshold", "--bags", "100", "--dim", "100", "--alpha", "2"], "alpha"),
    (["plan", "--bags", "10", "--tau", "soon"], "tau must be a number, 'smallest' or 'solve'; found 'soon'"),
    (["plan", "--bags", "10"], "Leave exactly one of --bags, --dim, --size, --alpha, --tau, --covering-ratio, --improvement out"),
    (["plan", "--bags", "10"], "missing: --dim, --alpha."),
    (["plan", "--bags", "10", "--setting", "bounded", "--tau", "solve"], "missing: --dim, --size, --alpha, --tau."),
    (["plan", "--bags", "10", "--dim", "100", "--alpha", "0.05"], "Pass --covering-ratio to get the improvement"),
    (["plan", "--bags", "10", "--alpha", "0.05", "--tau", "1", "--trace", "1"], "--trace is for --setting bounded"),
    (["plan", "--bags", "10", "--alpha", "0.05", "--tau", "1", "--bound", "2"], "--bound is for --setting bounded"),
    (["threshold", "--bags", "10", "--trace", "2"], "--trace is for --setting bounded"),
    (["threshold", "--bags", "10", "--dim", "9", "--bound", "1"], "--bound is for --setting bounded"),
    (["threshold", "--bags", "10", "--dim", "9", "--size", "50", "--setting", "bounded", "--C", "9"], "--constant is for Gaussian bags"),
]  # fmt: skip


def test_there_are_enough():
    assert len({tuple(arguments) for arguments, _ in BAD}) >= 90


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[" ".join(a) + " | " + m[:20] for a, m in BAD])
def test_bad_input(run, folder, arguments, message):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    flat = " ".join(done.stderr.replace("│", " ").split())  # typer draws a frame around usage errors
    assert message in flat
    assert "Traceback" not in done.stderr
    # Nothing was written, nothing was lost.
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
