/** Text that an agent, a file, a title or a tool wrote, on every screen: it is shown, and never obeyed. */

import { memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleConversation, sampleModel, sampleSessions, sampleTranscript } from "@aegis/test/helpers/sample-team.ts";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { expect, it } from "vitest";
import type { Model } from "../src/model.ts";
import type { ScreenName } from "../src/ui.ts";

const esc = "\u001b";
const vectors: Readonly<Record<string, string>> = {
  "clear and move": `${esc}[2J${esc}[H${esc}[31mpwned`,
  "title, OSC 8, OSC 52": `${esc}]0;pwned${"\u0007"}${esc}]8;;https://evil.example${esc}\\x${esc}]52;c;cm0=${"\u0007"}`,
  "eight-bit controls": "\u009b2J\u009d0;pwned\u009c\u0090q\u009c",
  "an image and an open sequence": `${esc}_Gf=32;AAAA${esc}\\ ${esc}]0;never ends`,
  "modes and reports": `${esc}[?1049l${esc}[6n${esc}c${esc}[>c${esc}[?2004l`,
  "direction and invisible marks": "\u202Etxt.exe\u2066\u200b\u2060\ufeff\u00ad",
  "combining and wide": `e${"\u0301".repeat(500)} 日本語 👩‍👩‍👧 ﷽ \u0e33 ❤️`,
  "line ends and backspaces": "good\rbad\b\b\b\u007f\u0000\v\f\u0085\u2028",
  "no newline": "x".repeat(1_000_000),
  "lone surrogates": "\ud800 \udc00",
};

/** The model with every text that is not a key, an id or one of our own words replaced. */
function poisoned(value: unknown, bad: string, key = ""): unknown {
  const kept =
    /^(?:id|key|session|state|status|type|kind|sender|turn|call|sha256|digest|method|parent|host|worker|root|run)$/;
  if (typeof value === "string") return kept.test(key) || /^[a-z]{2,4}_/.test(value) ? value : `${value}${bad}`;
  if (Array.isArray(value)) return value.map((one) => poisoned(one, bad, key));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poisoned(one, bad, name)]));
}

/** What the app itself may write: styles, and the mark of the cursor. */
const own = new RegExp(`${esc}\\[[0-9;]*m|${esc}_pi:c\\u0007`, "g");
const screens: readonly ScreenName[] = ["session", "dashboard", "needs", "team", "agents"];

const sizes = [
  [80, 24],
  [50, 20],
] as const;

it.each(Object.entries(vectors))("shows %s as text on every screen", async (_, bad) => {
  const clean = sampleModel();
  const transcript = sampleTranscript(poisoned(sampleConversation, bad) as typeof sampleConversation);
  const model = {
    ...(poisoned(clean, bad) as Model),
    connection: clean.connection,
    conversations: { [sampleSessions.lucid]: { transcript, more: false } },
  };
  for (const [columns, rows] of sizes) {
    const memory = memoryApp(model, { columns, rows });
    memory.app.openSession(sampleSessions.lucid);
    const check = () => {
      for (const row of memory.app.render()) {
        expect(row.replace(own, "")).not.toMatch(/\p{Cc}|[\u202a-\u202e\u2066-\u2069\u200b\u2060\ufeff]/u);
        expect(visibleWidth(row)).toBeLessThanOrEqual(columns);
      }
    };
    for (const screen of screens) {
      memory.app.show(screen);
      for (const teamView of ["tree", "flow"] as const) {
        memory.app.update({ teamView, unfolded: teamView === "flow" });
        check();
      }
      // Every dialog that the keys of the screen open.
      for (const key of ["\r", "v", "x", "e", "\u0010", "?"]) {
        if (screen === "session" && key !== "\u0010") continue;
        memory.app.handleInput(key);
        check();
        memory.app.update({ dialog: null });
        if (memory.app.ui.screen !== screen) memory.app.show(screen);
      }
    }
    memory.app.flash(bad, "error");
    check();
    await memory.shown();
    // Nothing that the terminal received is more than rows, styles and modes of the app.
    expect(memory.writes.join("")).not.toMatch(new RegExp(`pwned${"\u0007"}|\\]52;|\\]0;|\\]8;;h|_Gf=|\\[6n|${esc}c`));
  }
});
