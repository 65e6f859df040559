/** The lines of a change. */
import { useMemo } from "preact/hooks";
import { diffOf, diffOfPatch, spansOf } from "../model/diff-lines.ts";
import { visible } from "../model/format.ts";
import type { FileChange } from "./lazy-diff.tsx";

const signs = { same: " ", add: "+", del: "−" } as const;

export function DiffBody({ before, after, patch }: FileChange) {
  const diff = useMemo(
    () => (patch ? diffOfPatch(patch) : null) ?? diffOf(before ?? "", after ?? ""),
    [before, after, patch],
  );
  if ("tooLarge" in diff) return <p class="dim note">This change is too large to show here.</p>;
  if (diff.lines.length === 0) return <p class="dim note">No line differs.</p>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <section class="lines" tabIndex={0} aria-label={`${diff.added} lines added, ${diff.removed} removed`}>
      <table>
        <tbody>
          {diff.lines.map((line, index) =>
            line.kind === "hunk" ? (
              <tr key={index} class="hunk">
                <td colSpan={3}>{line.text}</td>
              </tr>
            ) : (
              <tr key={index} class={line.kind}>
                <td class="number">{line.after ?? line.before}</td>
                <td class="sign">{signs[line.kind]}</td>
                <td class="line">
                  {spansOf(line).map((span, k) =>
                    span.changed ? <mark key={k}>{visible(span.text)}</mark> : visible(span.text),
                  )}
                </td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </section>
  );
}
