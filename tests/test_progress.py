"""Progress is shown on a terminal, when work is long, and once."""

import io
import time

import numpy as np
import pytest

from stbmta import Bags, neighbor_averages, progress
from stbmta.scale.means import mean_statistics
from stbmta.scale.stream import BagStream


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    return Terminal()


def test_one_display_at_a_time(screen, monkeypatch):
    monkeypatch.setattr("sys.stderr", screen)
    with progress.working("outer"):
        time.sleep(0.2)
        with progress.progress_bar("inner", 1) as advance:
            time.sleep(0.2)
            advance()
    with progress.progress_bar("later", 2) as advance:
        time.sleep(0.2)
        advance()
    shown = screen.getvalue()
    assert "outer" in shown
    assert "inner" not in shown
    assert "later" in shown


def test_short_work_is_not_announced(screen, monkeypatch):
    monkeypatch.setattr("sys.stderr", screen)
    monkeypatch.setattr(progress, "_PATIENCE", 60.0)
    with progress.progress_bar("short", 1) as advance:
        advance()
    assert screen.getvalue() == ""
    assert not progress._screen.locked()


def test_reading_and_comparing_show_how_far_they_are(screen, monkeypatch):
    monkeypatch.setattr("sys.stderr", screen)
    said = []
    shown = progress.progress_bar

    def spy(what, total):
        said.append((what, total))
        return shown(what, total)

    monkeypatch.setattr("stbmta.scale.means.progress_bar", spy)
    monkeypatch.setattr("stbmta.linear.progress_bar", spy)
    points = np.random.default_rng(0).normal(size=(40, 2))
    part = BagStream.from_arrays(points, np.arange(40) % 20).parts[0]
    neighbor_averages(mean_statistics(BagStream([part, part, part])), 1.0)
    neighbor_averages(Bags.from_groups(points, np.arange(40) % 20), 1.0)
    assert said[0] == ("reading", 3)
    assert [what for what, _ in said[1:]] == ["comparing means", "comparing means"]
