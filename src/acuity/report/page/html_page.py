"""Writes a page as one HTML file that needs nothing else: no network, no folder beside it.

What can be said without a script stands in the HTML itself: title, cards, notes, tables, facts. The script
draws the curves from the page's document and takes out what has the class `fallback`. A policy in the file
allows this script and this style by their hashes and nothing else, so no name in a report can become code.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Any, Final

from acuity.report.page.bundle import bundled, static_text
from acuity.report.page.page_document import DATA_BUDGET, Page
from acuity.report.plots.axes import PlotSeries
from acuity.report.plots.rate_plot import rate_plot
from acuity.report.plots.svg_plot import svg_plot
from acuity.text import one_line

LARGEST_FILE: Final = 400_000  # bytes of a page without its pictures
_SPARE: Final = 2_000  # bytes for notes on how exact the columns are
_MOST_PLOTTED: Final = 8  # curves of the drawing
_LEAST_DATA: Final = 60_000
_NO_SCRIPT: Final = (
    "The curve can be zoomed, and all figures of a frame be read, where JavaScript is allowed."
)


def html_page(page: Page) -> Iterator[str]:
    """The file in pieces."""
    script, style = "\n" + bundled("page.js"), "\n" + static_text("page.css")
    for text, end in ((script, "</script"), (style, "</style"), (script, "<!--")):
        if end in text.lower():
            raise ValueError(f"{end} in the page's own files would end them")
    outline = page.outline()
    head, plots = _head(outline, script, style), (_over_time(page), _over_bitrate(page))
    parts = (head, _body(outline, *plots), script, as_script_data({**outline, "pictures": []}))
    rest = sum(len(part.encode()) for part in parts)
    document = page.to_document(min(DATA_BUDGET, max(LARGEST_FILE - rest - _SPARE, _LEAST_DATA)))
    yield head
    yield _body(document, *plots)
    yield '<script type="application/json" id="page-data">'
    yield as_script_data(document)
    yield f'</script>\n<script type="module">{script}</script>\n</body>\n</html>\n'


def as_script_data(document: dict[str, Any]) -> str:
    """JSON that can stand in a script element: no `<` in it can begin a tag."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _head(document: dict[str, Any], script: str, style: str) -> str:
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="{_text(document["made_by"])}">\n<link rel="icon" href="data:,">\n'
        f"<title>{_text(document['title'])}</title>\n<style>{style}</style>\n</head>\n"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _over_bitrate(page: Page) -> str:
    """The encodes as a drawing that needs no script; empty without bitrates."""
    encodes = [one_line(one.name) for one in page.series]
    return rate_plot(page.rates, score_name=page.rate_score, targets=page.targets, encodes=encodes)


def _over_time(page: Page) -> str:
    """The headline scores as a drawing that needs no script; empty without frames."""
    curves = [
        (PlotSeries(one_line(one.name), one.frames, one.headline.values), one)
        for one in page.series
        if one.headline is not None and len(one.frames)
    ]
    if not curves:
        return ""
    longest = max((one for _, one in curves), key=lambda one: len(one.frames))
    label = one_line(longest.headline.label) if longest.headline is not None else ""
    return svg_plot([plotted for plotted, _ in curves[:_MOST_PLOTTED]], seconds=longest.seconds, label=label)


def _body(document: dict[str, Any], over_time: str, over_bitrate: str) -> str:
    tables, first = document["tables"], document["first_tables"]
    parts = [
        f'<body data-kind="{_text(document["kind"])}">',
        '<a class="skip" href="#content">Skip to the content</a>',
        f'<header class="page-head">\n<h1 dir="auto">{_text(document["title"])}</h1>',
        f'<p class="subtitle" dir="auto">{_text(document["subtitle"])}</p>\n</header>',
        '<main id="content" tabindex="-1">',
        _section("cards", "Scores", _cards(document["cards"])),
        _section("notes", "Notes", _notes(document["notes"]), shown=True),
        _section("first-tables", "Overview", "\n".join(_tables(tables[:first]))),
        _section("rates", f"{document['rate_score']} over bitrate", _figure(over_bitrate)),
        _section("chart", "Over time", _figure(over_time)),
        '<section id="pictures" hidden></section>',
        _section("figures", "Figures", _figures(document["series"]), shown=True, fallback=True),
        _section("tables", "Tables", "\n".join(_tables(tables[first:]))),
        _section("facts", "How it was made", _facts(document["facts"]), shown=True),
        f"<noscript><p>{_NO_SCRIPT}</p></noscript>\n</main>",
        f'<footer class="page-foot"><p>{_text(document["made_by"])}</p></footer>\n',
    ]
    return "\n".join(parts)


def _figure(plot: str) -> str:
    return plot and f'<figure class="fallback">{plot}</figure>'


def _text(text: str) -> str:
    return escape(text, quote=True)


def _section(name: str, title: str, inner: str, *, shown: bool = False, fallback: bool = False) -> str:
    """A part of the page, hidden while it is empty; its title is seen, or only read out."""
    kind = ' class="fallback"' if fallback else ""
    if not inner:
        return f'<section id="{name}"{kind} hidden></section>'
    if not shown:
        return f'<section id="{name}"{kind} aria-label="{_text(title)}">\n{inner}\n</section>'
    return (
        f'<section id="{name}"{kind} aria-labelledby="{name}-title">\n'
        f'<h2 id="{name}-title">{_text(title)}</h2>\n{inner}\n</section>'
    )


def _cards(cards: Sequence[dict[str, Any]]) -> str:
    made = (
        f'<div class="card" data-tone="{_text(card["tone"])}"><dt dir="auto">{_text(card["label"])}</dt>'
        f'<dd class="value">{_text(card["value"])}</dd>'
        f'<dd class="detail" dir="auto">{_text(card["detail"])}</dd></div>'
        for card in cards
    )
    return _wrapped('<dl class="cards">', made, "</dl>")


def _notes(notes: Sequence[dict[str, Any]]) -> str:
    words = {"warning": '<strong class="level">Warning:</strong> ', "info": ""}
    made = (
        f'<li data-level="{_text(note["level"])}">{words[note["level"]]}'
        f'<span dir="auto">{_text(note["text"])}</span></li>'
        for note in notes
    )
    return _wrapped('<ul class="notes">', made, "</ul>")


def _facts(facts: Sequence[Sequence[str]]) -> str:
    made = (f'<div><dt>{_text(name)}</dt><dd dir="auto">{_text(text)}</dd></div>' for name, text in facts)
    return _wrapped('<dl class="facts">', made, "</dl>")


def _figures(series: Sequence[dict[str, Any]]) -> str:
    """The pooled figures as a table: a row for each column of the report, a column for each figure."""
    rows = [
        ([one["name"], column["label"]] if len(series) > 1 else [column["label"]], dict(column["figures"]))
        for one in series
        for column in one["columns"]
        if column["figures"]
    ]
    names = list(dict.fromkeys(name for _, figures in rows for name in figures))
    if not names:
        return ""
    first = ["of", "figure"] if len(series) > 1 else ["figure"]
    table = {
        "titles": [*first, *names],
        "rows": [[*start, *(figures.get(name, "") for name in names)] for start, figures in rows],
        "numeric": [False] * len(first) + [True] * len(names),
    }
    return _table("Figures", table)


def _tables(tables: Sequence[dict[str, Any]]) -> Iterator[str]:
    for table in tables:
        title = table["title"]
        yield f'<div class="table"><h2 dir="auto">{_text(title)}</h2>\n{_table(title, table)}</div>'


def _table(title: str, table: dict[str, Any]) -> str:
    def row(tag: str, cells: Sequence[str]) -> str:
        begin = '<th scope="col"' if tag == "th" else "<td"
        kinds = ("", ' class="number"')
        made = (
            f'{begin}{kinds[right]} dir="auto">{_text(cell)}</{tag}>'
            for cell, right in zip(cells, table["numeric"], strict=True)
        )
        return f"<tr>{''.join(made)}</tr>"

    rows = "\n".join(row("td", cells) for cells in table["rows"])
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{_text(title)}"><table>\n'
        f"<thead>{row('th', table['titles'])}</thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>"
    )


def _wrapped(before: str, parts: Iterable[str], after: str) -> str:
    inner = "\n".join(parts)
    return f"{before}\n{inner}\n{after}" if inner else ""
