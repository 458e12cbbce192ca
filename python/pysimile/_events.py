"""Messages and progress of the library, as logging, a progress bar or a call."""

import logging
import sys

logger = logging.getLogger("pysimile")


class Bar:
    """Shows progress on standard error, by tqdm where it is installed."""

    def __init__(self):
        self.bar = None
        self.task = ""

    def __call__(self, task, done, total, unit):
        try:
            from tqdm.auto import tqdm
        except ImportError:
            print(f"\r{task} {done}/{total} {unit}", end="\n" if done == total else "", file=sys.stderr)
            return
        if self.task != task or self.bar is None:
            self.bar, self.task = tqdm(total=total, unit=unit, desc=task), task
        self.bar.update(done - self.bar.n)
        if done == total:
            self.bar.close()
            self.bar = None


def listener(on_progress=None):
    """The callable that gets the events of the native module. `on_progress(task, done, total, unit)` may be None."""

    def on_event(kind, text, done, total, unit):
        if kind == "progress":
            if on_progress is not None:
                on_progress(text, done, total, unit)
        else:
            logger.log(logging.WARNING if kind == "warning" else logging.INFO, text)

    return on_event
