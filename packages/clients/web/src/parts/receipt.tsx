/** Receipts of checks: whether work is verified, and what the check printed. Its command and output are hostile text. */
import type { ReceiptView } from "@aegis/contract/receipt.ts";
import { suspicion, testCountWords } from "@aegis/contract/receipt-words.ts";
import { duration, oneLine, programText, visible, when } from "../model/format.ts";

const words: Readonly<Record<ReceiptView["state"], readonly [word: string, colour: string]>> = {
  running: ["check running", "active"],
  passed: ["verified", "ok"],
  void: ["void", "warn"],
  failed: ["check failed", "err"],
  refused: ["check refused", "err"],
};

/** Work that is done without a check is unverified; work that is not done is not judged yet. */
export function Verified({ receipt, done }: { receipt: ReceiptView | null; done: boolean }) {
  if (receipt === null) return done ? <span class="status dim">unverified</span> : null;
  const [word, colour] = words[receipt.state];
  return <span class={`status ${colour}`}>{word}</span>;
}

/** The checks of one run or one session, newest first and folded. */
export function Receipts({ receipts }: { receipts: readonly ReceiptView[] }) {
  if (receipts.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="receipts" tabIndex={0} aria-label="Checks">
      {receipts.map((receipt) => (
        <details key={receipt.id}>
          <summary>
            <Verified receipt={receipt} done /> <span class="dim">{receipt.kind}</span>{" "}
            <code>{oneLine(receipt.command, 80)}</code> <span class="dim">{factsOf(receipt)}</span>
          </summary>
          <Receipt receipt={receipt} />
        </details>
      ))}
    </section>
  );
}

export function Receipt({ receipt }: { receipt: ReceiptView }) {
  const { command, tail, tree, note, problem } = receipt;
  const notes = [note ?? problem, suspicion(receipt)].filter((text) => text !== null);
  return (
    <div class="receipt">
      <p>
        <Verified receipt={receipt} done /> <span class="dim">{factsOf(receipt)}</span>
        {tree === null ? null : <span class="dim mono"> tree {visible(tree.slice(0, 12))}</span>}
      </p>
      {notes.map((text) => (
        <p key={text} class="warn">
          {oneLine(text, 300)}
        </p>
      ))}
      <pre class="plain-text mono">{visible(command)}</pre>
      {tail.trim() === "" ? null : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
        <pre class="code" tabIndex={0}>
          {programText(tail)}
        </pre>
      )}
    </div>
  );
}

function factsOf({ exit, counts, duration_ms, started_at }: ReceiptView): string {
  return [
    ...(exit === null ? [] : [`exit ${exit}`]),
    ...(counts === null ? [] : [testCountWords(counts)]),
    ...(duration_ms === null ? [] : [duration(duration_ms)]),
    when(started_at, Date.now()),
  ].join(" · ");
}
