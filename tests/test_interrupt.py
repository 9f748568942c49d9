"""Ctrl-C keeps the points that have finished, and ends set-up."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import cutthrough as ct
import pytest
from cutthrough import _core
from cutthrough.cli.keeping import Signals

if TYPE_CHECKING:
    from pathlib import Path


def test_ctrl_c_keeps_finished_points(small: Path, tmp_path: Path) -> None:
    """Catches finished points that are lost, a traceback, or a run that does not end.

    The first point takes milliseconds; the second would take hours, so that the signal comes in its middle.
    """
    text = small.read_text().replace("precision = 0.1", "precision = 1e-9")
    endless = tmp_path / "endless.toml"
    head, _, _ = text.partition("[sweep]")
    endless.write_text(head + '[sweep]\n"measure.max_time" = ["30 us", "1000 s"]\n')
    out = tmp_path / "out"
    options = ["--out", str(out), "-j", "1", "--plots", "none"]
    command = [sys.executable, "-m", "cutthrough.cli", "run", str(endless), *options]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as running:
        deadline = time.monotonic() + 120
        while not [path for path in (out / "points").glob("*.json") if path.stem != "run"]:
            assert running.poll() is None, running.communicate()
            assert time.monotonic() < deadline, "no point"
            time.sleep(0.02)
        time.sleep(0.2)
        assert running.poll() is None, running.communicate()
        running.send_signal(signal.SIGINT)
        printed, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "1 finished point kept" in errors
    assert "Traceback" not in errors
    assert "accepted" in printed
    kept = ct.Results.read(out)
    assert not kept.complete
    assert [point["measure.max_time"] for point in kept] == ["30 us"]
    assert json.loads((out / "results.json").read_text())["complete"] is False


LONG: dict[str, Any] = {
    "topology": {"kind": "torus", "dims": [12000]},
    "link": {"bandwidth": "10 Gb/s", "delay": "20 ns"},
    "routing": {"kind": "shortest-path", "vc_rule": "single"},
    "workload": {"kind": "traffic", "load": 0.1},
}
"""A ring that can deadlock, which takes many seconds to find out."""


@pytest.mark.alone
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_ends_set_up() -> None:
    """Catches a signal that is handled only after the proof, with the proof's error: the ring can deadlock."""
    experiment = ct.load(**LONG)
    press = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    press.start()
    with pytest.raises(KeyboardInterrupt) as raised:
        experiment.validate()
    assert raised.value.__context__ is None


def test_set_up_can_be_cancelled() -> None:
    """Catches the validation of a sweep that goes on in its threads when the sweep has been interrupted."""
    progress = _core.Progress()
    cancel = threading.Timer(0.2, progress.cancel)
    cancel.start()
    with pytest.raises(_core.Cancelled):
        ct.load(**LONG).built().validate(0, progress)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes of POSIX")
@pytest.mark.parametrize("what", ["experiment", "include", "topology", "graph"])
def test_ctrl_c_ends_a_wait_for_a_pipe(what: str, small: Path) -> None:
    """Catches a pipe that nobody writes to and that only a second signal, or another, ends."""
    pipe = small.parent / "pipe.csv"
    os.mkfifo(pipe)
    text = small.read_text(encoding="utf-8")
    if what == "include":
        small.write_text(f'include = "{pipe}"\n{text}', encoding="utf-8")
    elif what == "topology":
        small.write_text(
            text.replace('kind = "fat-tree"\nk = 4\nn = 2', f'kind = "file"\npath = "{pipe}"'), encoding="utf-8"
        )
    mapping: list[str | Path] = ["map", "--graph", f"file:{pipe}", "--machine", "torus:2x2"]
    checks: dict[str, list[str | Path]] = {"experiment": ["check", pipe], "graph": mapping}
    words = checks.get(what, ["check", small])
    command = [sys.executable, "-m", "cutthrough.cli", *map(str, words)]
    # A test in the background ignores the signal, and so would its child processes.
    reset = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, preexec_fn=reset) as started:  # noqa: PLW1509
        time.sleep(2.0)
        assert started.poll() is None
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=30)
    assert (started.returncode, b"Traceback" in said) == (130, False)


def test_a_handler_outside_python_does_not_fail_a_run() -> None:
    """Catches a run that ends with an error because a library, such as a recorder of MPI, handles signals."""
    libc = ctypes.CDLL(None)
    libc.signal.argtypes, libc.signal.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    before = signal.getsignal(signal.SIGHUP)
    libc.signal(signal.SIGHUP, ctypes.cast(libc.abs, ctypes.c_void_p))
    try:
        with Signals():
            assert callable(signal.getsignal(signal.SIGHUP))
    finally:
        signal.signal(signal.SIGHUP, before)
