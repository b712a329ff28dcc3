"""Rows as files to download, at full precision."""

import csv
import io
from collections.abc import Sequence

from bindbench.reporting import views
from bindbench.reporting.data import Rows


def csv_text(rows: Rows, columns: Sequence[str]) -> str:
    """Return rows as CSV: the columns given first, then those that rows have beyond them."""
    text = io.StringIO()
    names = views.distinct((key for row in rows for key in row), columns)
    writer = csv.DictWriter(text, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
