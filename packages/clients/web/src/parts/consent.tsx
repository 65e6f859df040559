/** What a change would run and what the scan found, and the buttons that confirm or cancel it. */

import type { ChangeLine } from "@aegis/contract/plugin-install.ts";
import type { SkillFinding } from "@aegis/contract/skill-install.ts";
import { useEffect, useRef } from "preact/hooks";
import type { ConsentChange } from "../app/consent.ts";
import { oneLine, visible } from "../model/format.ts";

export function Consent(props: {
  question: string;
  confirmLabel: string;
  lines: readonly ChangeLine[];
  findings: readonly SkillFinding[];
  change: Pick<ConsentChange<unknown>, "action" | "isOther" | "confirm" | "cancel">;
}) {
  const { question, lines, findings, change } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  // The content appears far from the button that asked for it.
  useEffect(() => heading.current?.focus(), [question]);
  return (
    <section class="consent" aria-label="Confirm the change">
      <h2 ref={heading} tabIndex={-1}>
        {visible(question)}
      </h2>
      {change.isOther ? <p class="warn">The content has changed since it was shown. Look at it again.</p> : null}
      <Findings findings={findings} />
      <Lines lines={lines} />
      <div class="buttons">
        <button type="button" class="primary" disabled={change.action.busy.value} onClick={() => change.confirm()}>
          {props.confirmLabel}
        </button>
        <button type="button" onClick={change.cancel}>
          Cancel
        </button>
        <span class="dim">Nothing has changed yet.</span>
      </div>
    </section>
  );
}

export function Findings({ findings }: { findings: readonly SkillFinding[] }) {
  if (findings.length === 0) return <p class="dim">The scan found nothing.</p>;
  return (
    <ul class="findings" aria-label="Findings of the scan">
      {findings.map((one, index) => (
        <li key={index}>
          <span class={`badge ${one.severity}`}>{one.severity}</span> {oneLine(one.message, 240)}{" "}
          <span class="dim">
            {one.file === null ? "" : `${visible(one.file)}${one.line === null ? "" : `:${one.line}`} · `}
            {visible(one.rule)}
            {one.quoted === true ? ", quoted" : ""}
          </span>
          {one.excerpt === "" ? null : <code class="excerpt">{oneLine(one.excerpt, 200)}</code>}
        </li>
      ))}
    </ul>
  );
}

/** The lines of the installer. After the head of a diff, added and removed lines have their colour. */
export function Lines({ lines }: { lines: readonly ChangeLine[] }) {
  if (lines.length === 0) return null;
  const diffFrom = lines.findIndex(({ text }) => text.startsWith("diff --git "));
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="lines-shown" tabIndex={0} aria-label="What the change does">
      {lines.map(({ level, text }, index) => (
        <div key={index} class={level === "warning" ? "warn" : kindOf(text, diffFrom !== -1 && index > diffFrom)}>
          {visible(text)}
        </div>
      ))}
    </section>
  );
}

function kindOf(text: string, inDiff: boolean): string {
  if (!inDiff) return "";
  return text.startsWith("+") ? "add" : text.startsWith("-") ? "del" : "";
}
