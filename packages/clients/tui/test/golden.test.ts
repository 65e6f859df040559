import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type MemoryOptions, memoryApp } from "@aegis/test/helpers/memory-terminal.ts";
import { sampleModel, sampleSessions, withNeeds } from "@aegis/test/helpers/sample-team.ts";
import { visibleWidth } from "@earendil-works/pi-tui/dist/utils.js";
import { expect, it } from "vitest";

const folder = fileURLToPath(new URL("./golden", import.meta.url));
const sizes = { "80x24": [80, 24], "50x20": [50, 20], "200x60": [200, 60] } as const;

type Show = (app: ReturnType<typeof memoryApp>["app"]) => void;

/** UPDATE_GOLDEN=1 writes the files. */
function expectGolden(name: string, text: string): void {
  const file = join(folder, `${name}.txt`);
  if (process.env.UPDATE_GOLDEN === "1" || !existsSync(file)) writeFileSync(file, `${text}\n`);
  expect(text).toBe(readFileSync(file, "utf8").replace(/\n$/, ""));
}

const screens: Readonly<Record<string, Show>> = {
  session: (app) => app.openSession(sampleSessions.lucid),
  "session-unfolded": (app) => {
    app.openSession(sampleSessions.lucid);
    app.update({ unfolded: true });
  },
  "session-ask": (app) => app.openSession(sampleSessions.wry),
  dashboard: (app) => {
    app.show("dashboard");
    app.update({ selected: { dashboard: "run:run_01hz0abcde" } });
  },
  "needs-you": (app) => app.show("needs"),
  "needs-ready": (app) => {
    app.show("needs");
    app.select("last");
  },
  team: (app) => app.show("team"),
  flow: (app) => {
    app.show("team");
    app.update({ teamView: "flow" });
  },
  agents: (app) => app.show("agents"),
  palette: (app) => {
    app.openSession(sampleSessions.lucid);
    app.palette();
  },
  help: (app) => {
    app.show("dashboard");
    app.help();
  },
  "confirm-cancel": (app) => {
    app.show("dashboard");
    app.update({ selected: { dashboard: "run:run_01hz0abcde" } });
    app.handleInput("x");
  },
};

const cases = Object.entries(screens).flatMap(([name, show]) =>
  Object.keys(sizes).map((size) => ({ name, size, show })),
);

it.each(cases)("draws $name at $size", async ({ name, size, show }) => {
  process.env.TZ = "UTC";
  const [columns, rows] = sizes[size as keyof typeof sizes];
  const memory = memoryApp(name === "needs-ready" ? withNeeds(sampleModel()) : sampleModel(), { columns, rows });
  show(memory.app);
  const drawn = memory.drawn();
  expectGolden(`${name}-${size}`, drawn);
  expect(drawn.split("\n")).toHaveLength(rows);
  for (const row of memory.app.render()) expect(visibleWidth(row)).toBeLessThanOrEqual(columns);
  // What the emulator shows is what was drawn.
  expect(await memory.shown()).toBe(drawn);
});

const plainLooks: readonly { name: string; options: MemoryOptions }[] = [
  { name: "session", options: { depth: "none", ascii: true } },
  { name: "dashboard", options: { depth: "none", ascii: true } },
];

it.each(plainLooks)("draws $name without colours and Unicode", ({ name, options }) => {
  const memory = memoryApp(sampleModel(), options);
  screens[name]?.(memory.app);
  expectGolden(`${name}-ascii`, memory.drawn());
  const bytes = memory.app.render().join("\n");
  expect(bytes).not.toMatch(/\P{ASCII}/u);
  // Attributes such as bold stay; colours do not.
  expect(bytes).not.toMatch(/\[(?:3[0-8]|9\d)[;m]/);
});

it("uses only the 16 colours of a plain terminal where it has no more", () => {
  for (const show of Object.values(screens)) {
    const memory = memoryApp(sampleModel(), { depth: "16" });
    show(memory.app);
    expect(memory.app.render().join("\n")).not.toMatch(/\[[34]8;/);
  }
});

it("says so if the screen is too small, at any size", () => {
  for (const columns of [1, 2, 10, 19, 20, 21, 33]) {
    for (const rows of [1, 5, 6, 7, 12]) {
      const memory = memoryApp(sampleModel(), { columns, rows });
      for (const show of Object.values(screens)) {
        show(memory.app);
        const drawn = memory.app.render();
        expect(drawn).toHaveLength(rows);
        for (const row of drawn) expect(visibleWidth(row)).toBeLessThanOrEqual(columns);
        memory.app.update({ dialog: null });
      }
    }
  }
});
