/**
 * A list that keeps only the rows near the visible part in the page. It follows its end while the reader is there, and
 * what is being read stays where it is when rows above it change.
 */
import { type Signal, signal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Heights } from "../model/heights.ts";

export type RowSource = {
  count: number;
  key(index: number): string;
  /** Changes whenever the row does. A row with the same key and version is not drawn again. */
  version(index: number): number;
  render(index: number): ComponentChildren;
};

export type RowListProps = {
  source: RowSource;
  /** Changes whenever the source does. */
  version: number;
  /** Rows added before the first one (negative: removed) since the list was made. */
  shifted: number;
  label: string;
  /** Called when the reader comes near the beginning. */
  onStart?: () => void;
};

const extra = 6;
const nearEnd = 4;
const rearm = 40;
/** Older rows are loaded this many screens before the beginning, so that a fast reader does not meet it. */
const startsAt = 3;

class Window {
  readonly heights = new Heights(64);
  readonly range: Signal<readonly [start: number, end: number]> = signal([0, 0]);
  readonly away = signal(false);
  scroller: HTMLElement | null = null;
  spacer: HTMLElement | null = null;
  inner: HTMLElement | null = null;
  follows = true;
  /** Scrolling that the list did itself is not the reader's. */
  #expected = -1;
  readonly #observer = new ResizeObserver((entries) => this.#measured(entries));
  #onStart: (() => void) | undefined;

  update(count: number, onStart: (() => void) | undefined): void {
    this.heights.resize(count);
    this.#onStart = onStart;
    this.layout();
  }

  shift(count: number): void {
    const before = this.heights.total;
    this.heights.shift(count);
    if (this.scroller !== null && !this.follows) this.#scrollTo(this.scroller.scrollTop + this.heights.total - before);
  }

  observe(element: HTMLElement): () => void {
    this.#observer.observe(element);
    return () => this.#observer.unobserve(element);
  }

  onScroll(): void {
    const { scroller } = this;
    if (scroller === null) return;
    const distance = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
    if (Math.abs(scroller.scrollTop - this.#expected) > 1) this.follows = distance < (this.follows ? nearEnd : rearm);
    this.#expected = -1;
    this.layout();
    if (scroller.scrollTop < startsAt * scroller.clientHeight) this.#onStart?.();
  }

  toEnd(): void {
    this.follows = true;
    this.layout();
  }

  layout(): void {
    const { heights, scroller, spacer, inner } = this;
    if (scroller === null || spacer === null || inner === null) return;
    spacer.style.height = `${heights.total}px`;
    if (this.follows) this.#scrollTo(heights.total - scroller.clientHeight);
    const top = scroller.scrollTop;
    const start = Math.max(0, heights.at(top) - extra);
    const end = Math.min(heights.length, heights.at(top + scroller.clientHeight) + 1 + extra);
    inner.style.transform = `translateY(${heights.offset(start)}px)`;
    const [from, to] = this.range.peek();
    if (from !== start || to !== end) this.range.value = [start, end];
    this.away.value = !this.follows && heights.total - top - scroller.clientHeight > scroller.clientHeight / 2;
  }

  close(): void {
    this.#observer.disconnect();
  }

  #measured(entries: readonly ResizeObserverEntry[]): void {
    const { scroller } = this;
    if (scroller === null) return;
    const first = this.heights.at(scroller.scrollTop);
    let shift = 0;
    for (const entry of entries) {
      if (entry.target === scroller) continue;
      const index = Number((entry.target as HTMLElement).dataset.index);
      const grown = this.heights.set(index, entry.borderBoxSize[0]?.blockSize ?? 0);
      if (index < first) shift += grown;
    }
    if (shift !== 0 && !this.follows) this.#scrollTo(scroller.scrollTop + shift);
    this.layout();
  }

  #scrollTo(top: number): void {
    if (this.scroller === null) return;
    const target = Math.max(0, top);
    if (Math.abs(this.scroller.scrollTop - target) < 1) return;
    this.scroller.scrollTop = target;
    this.#expected = this.scroller.scrollTop;
  }
}

export function RowList({ source, version, shifted, label, onStart }: RowListProps) {
  const list = useMemo(() => new Window(), []);
  const scroller = useRef<HTMLDivElement>(null);
  const spacer = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const lastShift = useRef(shifted);
  useLayoutEffect(() => {
    Object.assign(list, { scroller: scroller.current, spacer: spacer.current, inner: inner.current });
    if (shifted !== lastShift.current) list.shift(shifted - lastShift.current);
    lastShift.current = shifted;
    list.update(source.count, onStart);
  }, [version, shifted, source, onStart]);
  useEffect(() => {
    const stop = scroller.current === null ? () => {} : list.observe(scroller.current);
    return () => {
      stop();
      list.close();
    };
  }, []);
  const [start, end] = list.range.value;
  // Rows that were added before the first one move the range before it is measured again: drawing other rows in
  // between would cost a whole window.
  const moved = shifted - lastShift.current;
  const rows = [];
  for (let index = Math.max(0, start + moved); index < Math.min(end + moved, source.count); index++) {
    rows.push(
      <Row key={source.key(index)} index={index} version={source.version(index)} list={list} source={source} />,
    );
  }
  return (
    <div class="row-list">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
      <div class="scroller" ref={scroller} tabIndex={0} role="log" aria-label={label} onScroll={() => list.onScroll()}>
        <div class="spacer" ref={spacer}>
          <div ref={inner}>{rows}</div>
        </div>
      </div>
      {list.away.value ? (
        <button type="button" class="to-end" onClick={() => list.toEnd()}>
          ↓ Newest
        </button>
      ) : null}
    </div>
  );
}

type RowProps = { index: number; version: number; list: Window; source: RowSource };

class Row extends Component<RowProps> {
  override shouldComponentUpdate({ index, version }: RowProps): boolean {
    return index !== this.props.index || version !== this.props.version;
  }

  override render({ index, list, source }: RowProps) {
    return (
      <Measured index={index} list={list}>
        {source.render(index)}
      </Measured>
    );
  }
}

function Measured({ index, list, children }: { index: number; list: Window; children: ComponentChildren }) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => (element.current === null ? undefined : list.observe(element.current)), []);
  return (
    <div ref={element} class="row" data-index={index}>
      {children}
    </div>
  );
}
