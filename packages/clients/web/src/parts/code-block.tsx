/** A block of code. A worker colours it, so that a long block never holds up typing. */
import { useEffect, useState } from "preact/hooks";
import type { Piece } from "../model/syntax.ts";

export function CodeBlock({ code, language }: { code: string; language: string }) {
  const [pieces, setPieces] = useState<readonly Piece[] | null>(null);
  useEffect(() => {
    setPieces(null);
    if (language === "" || code.length > 100_000) return;
    let gone = false;
    void import("../app/colour.ts").then((it) => it.colour(code, language)).then((found) => gone || setPieces(found));
    return () => {
      gone = true;
    };
  }, [code, language]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard
    <pre class="code" tabIndex={0}>
      <code>
        {pieces === null
          ? code
          : pieces.map(([kind, text], index) =>
              kind === "" ? (
                text
              ) : (
                <span key={index} class={`syntax-${kind}`}>
                  {text}
                </span>
              ),
            )}
      </code>
    </pre>
  );
}
