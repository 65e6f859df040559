/** Stacked bars over time as SVG. The pointer or the arrow keys choose a bar, whose values are shown and spoken. */

import type { UsageReport } from "@aegis/contract/usage.ts";
import { useEffect, useRef, useState } from "preact/hooks";
import { type Measure, measures, type PlottedUsage, ticksOf, timeLabel } from "../model/usage.ts";

const height = 260;
const [top, bottom, left, right] = [12, 24, 56, 8];
/** The last label ends at the edge, so the one before it needs half of its width more. */
const labelWidth = 112;

export function seriesClass(index: number, isRest: boolean): string {
  return `series-${isRest ? "rest" : (index % 7) + 1}`;
}

export function Plot({
  data,
  measure,
  bucket,
}: {
  data: PlottedUsage;
  measure: Measure;
  bucket: UsageReport["bucket"];
}) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  const [chosen, setChosen] = useState<number | null>(null);
  const { times, series, totals } = data;
  const { title, text } = measures[measure];
  useEffect(() => {
    if (box.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 800)));
    observer.observe(box.current);
    return () => observer.disconnect();
  }, []);

  const ticks = ticksOf(Math.max(...totals), measure === "turns" || measure === "errors" || measure === "tokens");
  const highest = ticks.at(-1) ?? 1;
  const slot = Math.max(0, width - left - right) / Math.max(1, times.length);
  const bar = Math.max(1, slot - Math.min(6, slot * 0.25));
  const x = (index: number) => left + index * slot + (slot - bar) / 2;
  const y = (value: number) => top + (height - top - bottom) * (1 - value / highest);
  const every = Math.max(1, Math.ceil(labelWidth / Math.max(1, slot)));
  const at = chosen === null ? times.length - 1 : Math.min(chosen, times.length - 1);

  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: times.length - 1 }[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setChosen(Math.max(0, Math.min(times.length - 1, next)));
  };
  const onPointerMove = (event: PointerEvent) => {
    const from = box.current?.getBoundingClientRect().left ?? 0;
    const index = Math.floor((event.clientX - from - left) / slot);
    setChosen(index >= 0 && index < times.length ? index : null);
  };
  return (
    <div
      class="plot"
      ref={box}
      role="slider"
      tabIndex={0}
      aria-label={`${title} over time`}
      aria-valuemin={0}
      aria-valuemax={Math.max(0, times.length - 1)}
      aria-valuenow={at}
      aria-valuetext={spoken(data, at, measure, bucket)}
      onKeyDown={onKeyDown}
      onFocus={() => setChosen(at)}
      onBlur={() => setChosen(null)}
      onPointerMove={onPointerMove}
      onPointerLeave={() => setChosen(null)}
    >
      <svg width={width} height={height} aria-hidden="true">
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={left} x2={width - right} y1={y(tick)} y2={y(tick)} />
            <text class="axis" x={left - 8} y={y(tick) + 4} text-anchor="end">
              {text(tick)}
            </text>
          </g>
        ))}
        {chosen === null ? null : (
          <rect class="chosen" x={left + at * slot} y={top} width={slot} height={height - top - bottom} />
        )}
        {times.map((time, index) => (
          <g key={time}>
            <Bar data={data} index={index} x={x(index)} width={bar} y={y} />
            {(times.length - 1 - index) % every === 0 && x(index) + bar / 2 - labelWidth / 2 > 16 ? (
              <text
                class="axis"
                x={index === times.length - 1 ? width - right : x(index) + bar / 2}
                y={height - 6}
                text-anchor={index === times.length - 1 ? "end" : "middle"}
              >
                {timeLabel(time, bucket)}
              </text>
            ) : null}
          </g>
        ))}
      </svg>
      {chosen === null ? null : (
        <div class="plot-tip" aria-hidden="true" style={tipPlace(x(at), bar, width)}>
          <b>{timeLabel(times[at] ?? 0, bucket)}</b>
          <b class="right">{text(totals[at] ?? 0)}</b>
          {series.map(({ name, values, isRest }, index) =>
            (values[at] ?? 0) === 0 ? null : (
              <div key={name}>
                <i class={`swatch ${seriesClass(index, isRest)}`} />
                <span class="cut">{name}</span>
                <span class="right">{text(values[at] ?? 0)}</span>
              </div>
            ),
          )}
        </div>
      )}
    </div>
  );
}

/** Beside the bar, towards the middle; on a narrow plot as far as it fits. */
function tipPlace(x: number, bar: number, width: number): { left: string } | { right: string } {
  const most = Math.min(280, width * 0.6) + 8;
  if (x > width / 2) return { right: `${Math.max(8, Math.min(width - x + 8, width - most))}px` };
  return { left: `${Math.max(8, Math.min(x + bar + 8, width - most))}px` };
}

type BarProps = { data: PlottedUsage; index: number; x: number; width: number; y: (value: number) => number };

function Bar({ data: { series }, index, x, width, y }: BarProps) {
  let below = 0;
  return (
    <>
      {series.map(({ name, values, isRest }, order) => {
        const value = values[index] ?? 0;
        if (value <= 0) return null;
        const from = below;
        below += value;
        return (
          <rect
            key={name}
            class={seriesClass(order, isRest)}
            x={x}
            y={y(below)}
            width={width}
            height={Math.max(1, y(from) - y(below))}
          />
        );
      })}
    </>
  );
}

function spoken(
  { times, series, totals }: PlottedUsage,
  at: number,
  measure: Measure,
  bucket: UsageReport["bucket"],
): string {
  const { text } = measures[measure];
  const parts = series.flatMap(({ name, values }) =>
    (values[at] ?? 0) === 0 ? [] : [`${name} ${text(values[at] ?? 0)}`],
  );
  return [`${timeLabel(times[at] ?? 0, bucket)}: ${text(totals[at] ?? 0)}`, ...parts].join(", ");
}
