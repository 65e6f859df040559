/** Draws the flow on a canvas. Nothing outside the view is drawn. */
import type { Arrow, FlowSpan, Lane } from "@aegis/client/model/flow.ts";
import { clock, duration } from "../model/format.ts";
import { axisStep, type TimeScale } from "../model/time-scale.ts";

export const laneHeight = 44;
export const axisHeight = 28;
const smallest = 3;
/** From here on arrows are drawn without dashes, and few per pair of lanes. */
const dense = 300;

export type Picture = {
  lanes: readonly Lane[];
  rows: ReadonlyMap<string, number>;
  spans: readonly FlowSpan[];
  arrows: readonly Arrow[];
  scale: TimeScale;
  end: number;
  scrollX: number;
  pixelsPerMs: number;
  chosen: string | null;
};

export type CanvasColours = Readonly<Record<(typeof names)[number], string>>;
const names = ["bg", "panel", "band", "line", "text", "dim", "accent", "ok", "warn", "err"] as const;

/** The tokens of the current theme. */
export function readColours(): CanvasColours {
  const probe = document.createElement("i");
  document.body.append(probe);
  const colours = Object.fromEntries(
    names.map((name) => {
      probe.style.color = `var(--${name})`;
      return [name, getComputedStyle(probe).color];
    }),
  );
  probe.remove();
  return colours as CanvasColours;
}

export function rowY(row: number): number {
  return axisHeight + row * laneHeight + laneHeight / 2;
}

/** Where an arrow begins and ends. It leans by as much as it waited. */
export function arrowPath(arrow: Arrow, { rows, scale, scrollX, end }: Picture) {
  const [from, to] = [rows.get(arrow.from), rows.get(arrow.to)];
  if (from === undefined || to === undefined) return null;
  const x1 = scale.x(arrow.sent) - scrollX;
  const x2 = Math.max(scale.x(arrow.taken ?? end) - scrollX, x1 + 1);
  const direction = Math.sign(to - from);
  return { x1, x2, y1: rowY(from) + direction * 7, y2: rowY(to) - direction * 9, direction };
}

export function paint(
  g: CanvasRenderingContext2D,
  width: number,
  height: number,
  picture: Picture,
  colours: CanvasColours,
) {
  const ratio = devicePixelRatio || 1;
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.fillStyle = colours.bg;
  g.fillRect(0, 0, width, height);
  const bottom = axisHeight + picture.lanes.length * laneHeight;
  for (let row = 1; row < picture.lanes.length; row += 2) {
    g.fillStyle = colours.band;
    g.fillRect(0, axisHeight + row * laneHeight, width, laneHeight);
  }
  paintAxis(g, width, bottom, picture, colours);
  paintSpans(g, width, picture, colours);
  paintArrows(g, width, picture, colours);
}

function paintAxis(
  g: CanvasRenderingContext2D,
  width: number,
  bottom: number,
  picture: Picture,
  colours: CanvasColours,
) {
  const { scale, scrollX, pixelsPerMs } = picture;
  const step = axisStep(pixelsPerMs);
  g.fillStyle = colours.panel;
  g.fillRect(0, 0, width, axisHeight);
  g.font = "11px system-ui";
  g.textBaseline = "middle";
  g.lineWidth = 1;
  for (const segment of scale.segments) {
    const x = segment.x - scrollX;
    if (x > width || x + segment.width < 0) continue;
    if (segment.folded) {
      paintFold(g, x, segment.width, bottom, colours);
      g.fillStyle = colours.dim;
      g.textAlign = "center";
      g.fillText(
        segment.width > 30
          ? duration(segment.to - segment.from)
              .split(" ")
              .slice(0, 2)
              .join(" ")
          : "⋯",
        x + segment.width / 2,
        axisHeight / 2,
      );
      continue;
    }
    g.textAlign = "left";
    const first = Math.ceil(Math.max(segment.from, scale.time(scrollX)) / step) * step;
    const last = Math.min(segment.to, scale.time(scrollX + width));
    for (let time = first; time <= last; time += step) {
      const at = Math.round(scale.x(time) - scrollX) + 0.5;
      g.strokeStyle = colours.line;
      line(g, at, axisHeight, at, bottom);
      if (x + segment.width - at < 52) continue;
      g.fillStyle = colours.dim;
      g.fillText(clock(time, step < 60_000), at + 4, axisHeight / 2);
    }
  }
  g.strokeStyle = colours.line;
  line(g, 0, axisHeight + 0.5, width, axisHeight + 0.5);
}

function paintFold(g: CanvasRenderingContext2D, x: number, width: number, bottom: number, colours: CanvasColours) {
  g.globalAlpha = 0.5;
  g.fillStyle = colours.line;
  g.fillRect(x, axisHeight, width, bottom - axisHeight);
  g.strokeStyle = colours.dim;
  g.beginPath();
  for (const offset of [width / 2 - 3, width / 2 + 3]) {
    g.moveTo(x + offset, axisHeight);
    for (let y = axisHeight, k = 0; y < bottom; y += 6, k++) g.lineTo(x + offset + (k % 2 ? 2 : -2), y);
  }
  g.stroke();
  g.globalAlpha = 1;
}

const spanColour = { turn: "accent", tool: "accent", ask: "warn", failed: "err" } as const;

function paintSpans(g: CanvasRenderingContext2D, width: number, picture: Picture, colours: CanvasColours) {
  const { rows, scale, scrollX, end } = picture;
  for (const span of picture.spans) {
    const row = rows.get(span.session);
    if (row === undefined) continue;
    const x = scale.x(span.from) - scrollX;
    const right = scale.x(span.to ?? end) - scrollX;
    if (right < 0 || x > width) continue;
    const height = span.kind === "tool" ? 6 : 14;
    g.fillStyle = colours[spanColour[span.kind]];
    g.globalAlpha = span.kind === "tool" ? 0.9 : span.kind === "turn" ? 0.32 : 0.6;
    g.beginPath();
    g.roundRect(x, rowY(row) - height / 2, Math.max(smallest, right - x), height, 3);
    g.fill();
  }
  g.globalAlpha = 1;
}

const arrowColour = { message: "dim", task: "accent", result: "ok" } as const;
const dashes = { message: [], task: [5, 3], result: [1.5, 3] } as const;

function paintArrows(g: CanvasRenderingContext2D, width: number, picture: Picture, colours: CanvasColours) {
  const visible = picture.arrows.flatMap((arrow) => {
    const path = arrowPath(arrow, picture);
    return path === null || path.x2 < 0 || path.x1 > width ? [] : [{ arrow, path }];
  });
  const isDense = visible.length > dense;
  const lastAt = new Map<string, number>();
  for (const { arrow, path } of visible) {
    const isChosen = arrow.key === picture.chosen;
    const pair = `${arrow.from} ${arrow.to}`;
    if (isDense && !isChosen && path.x1 - (lastAt.get(pair) ?? -99) < 5) continue;
    lastAt.set(pair, path.x1);
    const { x1, y1, x2, y2, direction } = path;
    const bend = Math.min(14, 6 + Math.abs(x2 - x1) / 2);
    g.strokeStyle = isChosen ? colours.text : colours[arrowColour[arrow.kind]];
    g.fillStyle = g.strokeStyle;
    g.globalAlpha = isChosen ? 1 : picture.chosen === null ? 0.8 : 0.25;
    g.lineWidth = isChosen ? 2 : 1.25;
    if (!isDense) g.setLineDash([...dashes[arrow.kind]]);
    g.beginPath();
    g.moveTo(x1, y1);
    g.bezierCurveTo(x1 + bend, y1 + direction * 10, x2 - bend, y2 - direction * 10, x2, y2);
    g.stroke();
    g.setLineDash([]);
    g.beginPath();
    g.moveTo(x2, y2 + direction * 3);
    g.lineTo(x2 - 3.5, y2 - direction * 3);
    g.lineTo(x2 + 3.5, y2 - direction * 3);
    g.fill();
    g.beginPath();
    g.arc(x1, y1, 2, 0, 7);
    g.fill();
  }
  g.globalAlpha = 1;
}

function line(g: CanvasRenderingContext2D, x1: number, y1: number, x2: number, y2: number) {
  g.beginPath();
  g.moveTo(x1, y1);
  g.lineTo(x2, y2);
  g.stroke();
}

/** The arrow under the pointer, within eight pixels. */
export function arrowAt(picture: Picture, x: number, y: number): Arrow | null {
  let best: Arrow | null = null;
  let distance = 8;
  for (const arrow of picture.arrows) {
    const path = arrowPath(arrow, picture);
    if (path === null) continue;
    const along = (y - path.y1) / (path.y2 - path.y1);
    if (along < 0 || along > 1) continue;
    const away = Math.abs(path.x1 + (path.x2 - path.x1) * along - x);
    if (away < distance) [distance, best] = [away, arrow];
  }
  return best;
}
