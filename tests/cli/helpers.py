"""What the tests of several commands need."""

from stbmta import STB, Bags


def ok(done):
    assert done.exit_code == 0, done.output
    return done


def reference(frame, **more):
    bags = Bags.from_frame(frame, "city", ["warm", "wind_speed"])
    return STB(random_state=0, **more).fit(bags)
