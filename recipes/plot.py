"""Plots as SVG, for recipes: points, or lines through points, with axes and a legend. Only the standard library."""

import math

WIDTH, HEIGHT = 520, 400
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 40, 52
COLOURS = ["#3366aa", "#cc5533", "#339966", "#885599", "#b8860b", "#444444", "#20a0c0", "#d04090"]


def ticks(low, high, log):
    """Round numbers from `low` to `high`; on a log axis 1, 2 and 5 times powers of ten."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    rough = (high - low) / 5 or 1.0
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step + 1e-9) + 1)]


class Axis:
    """Maps values to places between `begin` and `end`."""

    def __init__(self, values, begin, end, log=False):
        self.log = log
        low, high = min(values), max(values)
        margin = 0.05 * ((high - low) or abs(high) or 1.0)
        self.low, self.high = (low / 1.15, high * 1.15) if log else (low - margin, high + margin)
        self.begin, self.end = begin, end

    def place(self, value):
        low, high, value = (math.log(v) if self.log else v for v in (self.low, self.high, value))
        return self.begin + (value - low) / (high - low) * (self.end - self.begin)

    def ticks(self):
        return ticks(self.low, self.high, self.log)


def text(x, y, content, anchor="middle", more=""):
    content = content.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{content}</text>'


def plot(path, series, title, labels, lines=False, diagonal=False, log_x=False):
    """Writes `path`. `series` maps names to lists of (x, y); `labels` names the x and the y axis.

    `lines` joins the points of a series; `diagonal` draws y = x, with the same scale on both axes.
    """
    points = [point for all_points in series.values() for point in all_points]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    if diagonal:
        xs = ys = xs + ys
    across = Axis(xs, LEFT, WIDTH - RIGHT, log_x)
    down = Axis(ys, HEIGHT - BOTTOM, TOP)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="11">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        text(WIDTH / 2, 18, title, more='font-size="13"'),
    ]
    for tick in across.ticks():
        x = across.place(tick)
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#dddddd"/>')
        out.append(text(x, HEIGHT - BOTTOM + 16, f"{tick:g}"))
    for tick in down.ticks():
        y = down.place(tick)
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(text(LEFT - 6, y + 4, f"{tick:g}", "end"))
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, labels[0]))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(text(16, middle, labels[1], more=f'transform="rotate(-90 16 {middle:.1f})"'))
    if diagonal:
        ends = [(across.place(v), down.place(v)) for v in (across.low, across.high)]
        (x1, y1), (x2, y2) = ends
        out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#888888"/>')
    for index, (name, own) in enumerate(series.items()):
        colour = COLOURS[index % len(COLOURS)]
        places = [(across.place(x), down.place(y)) for x, y in own]
        if lines:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            out.append(f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}" fill-opacity="0.7"/>' for x, y in places]
        y = TOP + 12 + 14 * index
        out.append(f'<circle cx="{LEFT + 10}" cy="{y - 4}" r="4" fill="{colour}"/>')
        out.append(text(LEFT + 18, y, name, "start"))
    out.append("</svg>")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n")
