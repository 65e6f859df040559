/** The lines of a changed file, with comments. Only the parts of a long diff that are near the visible one are in the page. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CodeLine, DiffLine } from "../model/diff-lines.ts";
import { type DiffRow, painted, pairedRows, unifiedRows } from "../model/diff-rows.ts";
import { visible } from "../model/format.ts";
import { type Anchor, anchorKey, anchorOf, type Comment } from "../model/review.ts";
import type { Piece } from "../model/syntax.ts";
import { CommentEditor, Comments } from "./review-comments.tsx";

export type LineColours = ReadonlyMap<CodeLine, readonly Piece[]>;

export type ReviewLinesProps = {
  lines: readonly DiffLine[];
  split: boolean;
  colours: LineColours;
  label: string;
  comments: ReadonlyMap<string, readonly Comment[]>;
  /** The line whose comment is being written. */
  writing: string | null;
  setWriting: (key: string | null) => void;
  save: (anchor: Anchor, body: string) => void;
  remove: (comment: Comment) => void;
};

const rowsPerBlock = 80;

export function ReviewLines(props: ReviewLinesProps) {
  const { lines, split, label } = props;
  const rows = useMemo(() => (split ? pairedRows(lines) : unifiedRows(lines)), [lines, split]);
  const [current, setCurrent] = useState(-1);
  const scroller = useRef<HTMLElement>(null);
  const first = rows.findIndex((row) => row.kind !== "hunk");
  const focused = current >= 0 && current < rows.length ? current : first;
  const blocks = useMemo(() => {
    const result: number[] = [];
    for (let at = 0; at < rows.length; at += rowsPerBlock) result.push(at);
    return result;
  }, [rows]);

  const move = (step: number) => {
    let next = current < 0 ? first : current + step;
    while (rows[next]?.kind === "hunk") next += step;
    if (rows[next] === undefined) return;
    setCurrent(next);
    // The row may be in a block that is not in the page yet.
    requestAnimationFrame(() => {
      const row = scroller.current?.querySelector<HTMLElement>(`[data-row="${next}"]`);
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest" });
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target instanceof HTMLTextAreaElement || event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      event.preventDefault();
      move(step);
    } else if (event.key === "c") {
      const line = lineOf(rows[focused]);
      if (line === null) return;
      event.preventDefault();
      props.setWriting(anchorKey(anchorOf(line)));
    }
  };
  return (
    <section class={`review-lines ${split ? "split" : ""}`} ref={scroller} aria-label={label} onKeyDown={onKeyDown}>
      <table>
        <colgroup>
          <col class="number" />
          {split ? <col class="half" /> : <col class="number" />}
          {split ? <col class="number" /> : null}
          <col />
        </colgroup>
        {blocks.map((from) => (
          <Block
            key={from}
            rows={rows.slice(from, from + rowsPerBlock)}
            from={from}
            always={rows.length <= 2 * rowsPerBlock || (focused >= from && focused < from + rowsPerBlock)}
            scroller={scroller}
            focused={focused}
            setCurrent={setCurrent}
            lines={props}
          />
        ))}
      </table>
    </section>
  );
}

type BlockProps = {
  rows: readonly DiffRow[];
  from: number;
  always: boolean;
  scroller: { current: HTMLElement | null };
  focused: number;
  setCurrent: (row: number) => void;
  lines: ReviewLinesProps;
};

const lineHeight = 18;

function Block({ rows, from, always, scroller, focused, setCurrent, lines }: BlockProps) {
  const body = useRef<HTMLTableSectionElement>(null);
  const height = useRef(rows.length * lineHeight);
  const [near, setNear] = useState(from === 0);
  useEffect(() => {
    const element = body.current;
    if (element === null) return;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting) height.current = entry.boundingClientRect.height || height.current;
        setNear(entry.isIntersecting);
      },
      { root: scroller.current, rootMargin: "800px 0px" },
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  if (!near && !always)
    return (
      <tbody ref={body} aria-hidden="true">
        <tr>
          <td style={{ height: `${height.current}px` }} />
        </tr>
      </tbody>
    );
  return (
    <tbody ref={body}>
      {rows.map((row, index) => (
        <Row
          key={from + index}
          row={row}
          index={from + index}
          isFocused={from + index === focused}
          setCurrent={setCurrent}
          lines={lines}
        />
      ))}
    </tbody>
  );
}

type RowProps = {
  row: DiffRow;
  index: number;
  isFocused: boolean;
  setCurrent: (row: number) => void;
  lines: ReviewLinesProps;
};

function Row({ row, index, isFocused, setCurrent, lines }: RowProps) {
  if (row.kind === "hunk")
    return (
      <tr class="hunk">
        <td colSpan={lines.split ? 4 : 3}>{row.text}</td>
      </tr>
    );
  const focusable = { tabIndex: isFocused ? 0 : -1, "data-row": index, onFocusIn: () => setCurrent(index) };
  const sides = row.kind === "one" ? [row.line] : row.left === row.right ? [row.right] : [row.left, row.right];
  return (
    <>
      {row.kind === "one" ? (
        <tr class={row.line.kind} {...focusable}>
          <Numbered value={row.line.before} line={row.line} lines={lines} />
          <Numbered value={row.line.after} line={row.line} lines={lines} />
          <Code line={row.line} lines={lines} signed />
        </tr>
      ) : (
        <tr {...focusable}>
          <Half line={row.left} value={row.left?.before ?? null} lines={lines} />
          <Half line={row.right} value={row.right?.after ?? null} lines={lines} />
        </tr>
      )}
      {sides.map((line) =>
        line === null ? null : <Below key={anchorKey(anchorOf(line))} line={line} lines={lines} />,
      )}
    </>
  );
}

type LineProps = { line: CodeLine; lines: ReviewLinesProps };

/** The number of a line is the button that comments on it. The keyboard has `c` instead: a long file has many lines. */
function Numbered({ value, line, lines, side = "" }: LineProps & { value: number | null; side?: string }) {
  if (value === null) return <td class={`number ${side}`} />;
  return (
    <td class={`number ${side}`}>
      <button
        type="button"
        tabIndex={-1}
        aria-label={commentLabel(line)}
        onClick={() => lines.setWriting(anchorKey(anchorOf(line)))}
      >
        {value}
      </button>
    </td>
  );
}

function Half({ line, value, lines }: { line: CodeLine | null; value: number | null; lines: ReviewLinesProps }) {
  if (line === null)
    return (
      <>
        <td class="number none" />
        <td class="none" />
      </>
    );
  return (
    <>
      <Numbered value={value} line={line} lines={lines} side={line.kind} />
      <Code line={line} lines={lines} />
    </>
  );
}

const signs = { same: " ", add: "+", del: "−" } as const;
const spoken = { same: "", add: "added: ", del: "removed: " } as const;

function Code({ line, lines, signed = false }: LineProps & { signed?: boolean }) {
  return (
    <td class={`line ${line.kind}`}>
      {line.kind === "same" ? null : <span class="unseen">{spoken[line.kind]}</span>}
      {signed ? (
        <span class="sign" aria-hidden="true">
          {signs[line.kind]}
        </span>
      ) : null}
      {painted(line, lines.colours.get(line)).map(({ text, kind, changed }, index) => {
        const shown = kind === "" ? visible(text) : <span class={`syntax-${kind}`}>{visible(text)}</span>;
        return changed ? <mark key={index}>{shown}</mark> : <span key={index}>{shown}</span>;
      })}
    </td>
  );
}

/** The comments of a line, and the one that is being written. */
function Below({ line, lines }: LineProps) {
  const anchor = anchorOf(line);
  const comments = lines.comments.get(anchorKey(anchor)) ?? [];
  const isWriting = lines.writing === anchorKey(anchor);
  if (comments.length === 0 && !isWriting) return null;
  return (
    <tr class="remarks">
      <td colSpan={lines.split ? 4 : 3}>
        <Comments comments={comments} remove={lines.remove} />
        {isWriting ? (
          <CommentEditor
            label={commentLabel(line)}
            save={(body) => lines.save(anchor, body)}
            cancel={() => lines.setWriting(null)}
          />
        ) : null}
      </td>
    </tr>
  );
}

function commentLabel(line: CodeLine): string {
  return `Comment on ${line.kind === "del" ? "removed " : ""}line ${anchorOf(line).line}`;
}

/** A row of two sides is commented on its new side. */
function lineOf(row: DiffRow | undefined): CodeLine | null {
  if (row === undefined || row.kind === "hunk") return null;
  return row.kind === "one" ? row.line : (row.right ?? row.left);
}
