/** Team: the flow of work between sessions over time, and the tree of sessions beside it. */

import { asksOf } from "@aegis/client/model/board.ts";
import { type Arrow, Flow, type Lane, lanesInOrder } from "@aegis/client/model/flow.ts";
import { headline } from "@aegis/contract/headline.ts";
import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { client } from "../app/client.ts";
import { failedToLoad } from "../app/resource.ts";
import { go, link } from "../app/router.ts";
import { board, onStream } from "../app/store.ts";
import { clock, oneLine, visible } from "../model/format.ts";
import { TimeScale } from "../model/time-scale.ts";
import { Empty, Problem, StateDot, shapeOf } from "../parts/facts.tsx";
import {
  arrowAt,
  axisHeight,
  type CanvasColours,
  laneHeight,
  type Picture,
  paint,
  readColours,
} from "../parts/flow-canvas.ts";
import { Page } from "../parts/page.tsx";

const kinds = { message: "message", task: "task", result: "result" } as const;
const mostEvents = 10_000;
const page = 1_000;

/** The newest events of the project, and everything that comes. */
function loadFlow(changed: Signal<number>, problem: Signal<string | null>): { flow: Flow; stop(): void } {
  const flow = new Flow();
  let ready = false;
  const stop = onStream((items) => {
    if (!ready) return;
    for (const item of items) if (item.kind === "event") flow.add(item.event);
    changed.value += 1;
  });
  const load = async () => {
    const { sessions } = await client.call("listSessions", { query: { closed: true } });
    for (const session of sessions) flow.addLane(session);
    const { last_seq } = await client.call("status");
    let after = Math.max(0, last_seq - mostEvents);
    while (true) {
      const { events } = await client.call("listEvents", { query: { after, limit: page } });
      for (const event of events) flow.add(event);
      after = events.at(-1)?.seq ?? after;
      if (events.length < page) break;
    }
    ready = true;
    changed.value += 1;
  };
  load().catch((error: unknown) => {
    problem.value = failedToLoad(error);
  });
  return { flow, stop };
}

export function TeamPage() {
  const changed = useMemo(() => signal(0), []);
  const problem = useMemo(() => signal<string | null>(null), []);
  const source = useMemo(() => loadFlow(changed, problem), []);
  useEffect(() => source.stop, []);
  const version = changed.value;
  const lanes = useMemo(() => lanesInOrder(source.flow), [version]);
  if (problem.value !== null) return <Problem text={problem.value} />;
  if (version === 0) return <Empty>Loading…</Empty>;
  if (lanes.length === 0)
    return (
      <Page title="Team">
        <Empty>No session has worked yet. When sessions work, this page shows who sends work to whom.</Empty>
      </Page>
    );
  return <FlowView flow={source.flow} lanes={lanes} version={version} />;
}

class FlowState {
  readonly live = signal(true);
  readonly fold = signal(true);
  readonly chosen = signal<Arrow | null>(null);
  readonly tip = signal<{ x: number; y: number } | null>(null);
  canvas: HTMLCanvasElement | null = null;
  view: HTMLElement | null = null;
  colours: CanvasColours = readColours();
  lanes: readonly Lane[] = [];
  picture: Picture | null = null;
  #pixelsPerMs = 0;
  #scrollX = 0;
  #queued = false;
  readonly flow: Flow;

  constructor(flow: Flow) {
    this.flow = flow;
  }

  get #width(): number {
    return this.view?.clientWidth ?? 0;
  }

  #scale(): TimeScale {
    const foldWidth = this.#width < 400 ? 18 : 36;
    const options = { pixelsPerMs: this.#pixelsPerMs, foldWidth, fold: this.fold.peek() };
    return new TimeScale(this.flow.spans, this.#end(), options);
  }

  #end(): number {
    const isBusy = this.flow.spans.some((span) => span.to === null);
    return isBusy ? Math.max(this.flow.end, Date.now()) : this.flow.end;
  }

  fit(): void {
    this.#pixelsPerMs = 1e-6;
    const whole = this.#scale().fit(this.#width - 24);
    // On a narrow screen everything at once would be unreadable: the newest part is shown.
    this.#pixelsPerMs = this.#width < 400 ? Math.max(whole, (this.#width - 40) / 480_000) : whole;
    this.#scrollX = this.#width < 400 ? Number.MAX_SAFE_INTEGER : 0;
    this.live.value = true;
    this.draw();
  }

  zoom(factor: number, at = this.#width / 2): void {
    const time = this.#scale().time(this.#scrollX + at);
    this.#pixelsPerMs = Math.min(0.5, Math.max(1e-7, this.#pixelsPerMs * factor));
    this.#scrollX = this.#scale().x(time) - at;
    this.live.value = false;
    this.draw();
  }

  pan(pixels: number): void {
    this.#scrollX += pixels;
    this.live.value = false;
    this.draw();
  }

  follow(): void {
    this.live.value = true;
    this.draw();
  }

  draw(): void {
    if (this.#queued) return;
    this.#queued = true;
    requestAnimationFrame(() => {
      this.#queued = false;
      this.#paint();
    });
  }

  #paint(): void {
    const { canvas, view } = this;
    const context = canvas?.getContext("2d", { alpha: false });
    if (canvas === null || view === null || !context) return;
    if (this.#pixelsPerMs === 0) {
      this.fit();
      return;
    }
    const width = view.clientWidth;
    const height = Math.max(axisHeight + this.lanes.length * laneHeight, view.parentElement?.clientHeight ?? 0);
    const ratio = devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    const scale = this.#scale();
    const most = Math.max(0, scale.width - width + 24);
    this.#scrollX = this.live.peek() && scale.width > width ? most : Math.max(0, Math.min(this.#scrollX, most));
    const { flow, lanes } = this;
    this.picture = {
      lanes,
      scale,
      spans: flow.spans,
      arrows: flow.arrows,
      end: this.#end(),
      scrollX: this.#scrollX,
      rows: new Map(lanes.map((lane, index) => [lane.id, index])),
      pixelsPerMs: this.#pixelsPerMs,
      chosen: this.chosen.peek()?.key ?? null,
    };
    paint(context, width, height, this.picture, this.colours);
  }
}

function FlowView({ flow, lanes, version }: { flow: Flow; lanes: readonly Lane[]; version: number }) {
  const state = useMemo(() => new FlowState(flow), [flow]);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useRef<HTMLDivElement>(null);
  state.lanes = lanes;
  useEffect(() => {
    Object.assign(state, { canvas: canvas.current, view: view.current });
    const resized = new ResizeObserver(() => state.draw());
    if (view.current !== null) resized.observe(view.current);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const recolour = () => {
      state.colours = readColours();
      state.draw();
    };
    dark.addEventListener("change", recolour);
    // Unfinished turns grow with time.
    const timer = setInterval(() => document.hidden || state.draw(), 1_000);
    return () => {
      resized.disconnect();
      dark.removeEventListener("change", recolour);
      clearInterval(timer);
    };
  }, [state]);
  useEffect(() => state.draw(), [version, lanes, state.chosen.value, state.live.value]);
  return (
    <div class="team">
      <header class="page-head">
        <h1>Team</h1>
        <Legend />
        <div class="buttons">
          <button type="button" aria-label="Zoom out" onClick={() => state.zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" onClick={() => state.fit()}>
            Fit
          </button>
          <button type="button" aria-label="Zoom in" onClick={() => state.zoom(1.5)}>
            +
          </button>
          <button
            type="button"
            aria-pressed={state.fold.value}
            onClick={() => {
              state.fold.value = !state.fold.value;
              state.fit();
            }}
          >
            Fold idle time
          </button>
          <button type="button" class="live" aria-pressed={state.live.value} onClick={() => state.follow()}>
            ● Live
          </button>
        </div>
      </header>
      <div class="flow">
        <Names lanes={lanes} />
        <Surface state={state} canvas={canvas} view={view} />
      </div>
      <Tip state={state} lanes={lanes} />
    </div>
  );
}

function Legend() {
  return (
    <p class="legend dim" aria-hidden="true">
      <i class="key turn" /> turn <i class="key tool" /> tool <i class="key ask" /> waits for you{" "}
      <i class="key failed" /> failed
      <i class="curve of-message" /> message <i class="curve of-task" /> task <i class="curve of-result" /> result
    </p>
  );
}

function Names({ lanes }: { lanes: readonly Lane[] }) {
  return (
    <ul class="names" aria-label="Sessions">
      {lanes.map((lane) => {
        const card = board.value.cards[lane.id];
        const asks = asksOf(board.value, lane.id).length;
        return (
          <li key={lane.id} class={`depth-${Math.min(3, lane.depth)}`}>
            <a href={link("s", lane.id)}>
              <span class="cut">{card === undefined ? visible(lane.handle) : oneLine(headline(card), 60)}</span>
              {card === undefined || card.state === "closed" ? null : <StateDot shape={shapeOf(card, asks)} />}
              <small class="dim cut">{lane.agent}</small>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

type Refs = { canvas: preact.RefObject<HTMLCanvasElement | null>; view: preact.RefObject<HTMLDivElement | null> };

function Surface({ state, canvas, view }: { state: FlowState } & Refs) {
  const drag = useRef<{ x: number; moved: boolean } | null>(null);
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => state.pan(-80),
    ArrowRight: () => state.pan(80),
    Home: () => state.pan(-1e9),
    End: () => state.follow(),
    "+": () => state.zoom(1.5),
    "-": () => state.zoom(1 / 1.5),
  };
  const choose = (event: PointerEvent) => {
    const box = view.current?.getBoundingClientRect();
    if (box === undefined || state.picture === null) return;
    const found = arrowAt(state.picture, event.clientX - box.left, event.clientY - box.top);
    if (found !== state.chosen.peek()) state.chosen.value = found;
    state.tip.value = found === null ? null : { x: event.clientX, y: event.clientY };
  };
  return (
    <div
      class="surface"
      ref={view}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keys move and zoom the picture
      tabIndex={0}
      role="application"
      aria-label="Flow of the team over time. Arrow keys move, plus and minus zoom. The messages follow as a list."
      onKeyDown={(event) => {
        const act = keys[event.key];
        if (act === undefined || event.target !== event.currentTarget) return;
        event.preventDefault();
        act();
      }}
      onWheel={(event) => {
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          state.zoom(Math.exp(-event.deltaY * 0.002), event.offsetX);
        } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey) {
          event.preventDefault();
          state.pan(event.deltaX || event.deltaY);
        }
      }}
      onPointerDown={(event) => {
        drag.current = { x: event.clientX, moved: false };
      }}
      onPointerMove={(event) => {
        if (drag.current === null || event.buttons === 0) return choose(event);
        const moved = drag.current.x - event.clientX;
        if (Math.abs(moved) < 3 && !drag.current.moved) return;
        state.pan(moved);
        drag.current = { x: event.clientX, moved: true };
      }}
      onPointerUp={() => {
        const { chosen } = state;
        if (drag.current?.moved === false && chosen.peek() !== null) go("why", chosen.peek()?.key ?? "");
        drag.current = null;
      }}
      onPointerLeave={() => {
        state.tip.value = null;
        state.chosen.value = null;
      }}
    >
      {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: a canvas takes no focus; the list below says the same */}
      <canvas ref={canvas} aria-hidden="true" />
      <ArrowList state={state} />
    </div>
  );
}

/** The arrows as a list, for the keyboard and for screen readers. */
function ArrowList({ state }: { state: FlowState }) {
  const newest = state.flow.arrows.slice(-200);
  return (
    <ul class="arrow-list" aria-label="Messages between sessions">
      {newest.map((arrow) => (
        <li key={arrow.key}>
          <a
            href={link("why", arrow.key)}
            onFocus={() => {
              state.chosen.value = arrow;
            }}
            onBlur={() => {
              state.chosen.value = null;
            }}
          >
            {clock(arrow.sent, true)} {handleOf(state.lanes, arrow.from)} to {handleOf(state.lanes, arrow.to)},{" "}
            {kinds[arrow.kind]}, {oneLine(arrow.text, 80)}
          </a>
        </li>
      ))}
    </ul>
  );
}

function Tip({ state, lanes }: { state: FlowState; lanes: readonly Lane[] }) {
  const arrow = state.chosen.value;
  const at = state.tip.value;
  if (arrow === null) return null;
  const place = at === null ? undefined : { left: `${Math.min(at.x + 12, innerWidth - 340)}px`, top: `${at.y + 14}px` };
  return (
    <div class={`tip ${at === null ? "docked" : ""}`} {...(place === undefined ? {} : { style: place })}>
      <b>
        {handleOf(lanes, arrow.from)} → {handleOf(lanes, arrow.to)}
      </b>
      <p class="dim">
        {clock(arrow.sent, true)} · {kinds[arrow.kind]}
        {arrow.taken === null ? " · waits" : ""}
      </p>
      <p>{oneLine(arrow.text, 160)}</p>
    </div>
  );
}

function handleOf(lanes: readonly Lane[], id: string): string {
  return visible(lanes.find((lane) => lane.id === id)?.handle ?? id);
}
