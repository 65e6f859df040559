// @module-tag slow
/**
 * Holds the table "Where to add things" of ARCHITECTURE.md: makes a change of each kind on a copy of the source, and
 * expects that the compiler asks for exactly the files that the table's row names.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { scaled } from "./helpers/slowness.ts";
import { tempDir } from "./helpers/temp-dir.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

type Change = {
  /** The first cell of its row. */
  readonly row: string;
  /** The made-up name, which errors are recognised by. */
  readonly name: string;
  /** What is inserted before which text of which file; without a text before which, the file is new. */
  readonly edits: readonly (readonly [file: string, before: string, text: string])[];
  /** Where the compiler then reports an error. */
  readonly demands: readonly string[];
};

/** It can be read and written at once; its text has no mark. */
const madeUpTable = `
import type { RowWriter } from "../sql/row-writer.ts";
import type { ReadSql } from "../sql/sql.ts";
import { Table, TableReads } from "../sql/table.ts";
import type { StoreReads, StoreTx } from "../tables.ts";
type MadeUp = { id: string; made_up_text: string };
const table = new Table<MadeUp>("made_ups", { id: "name" });
export class MadeUpReads<S extends ReadSql = ReadSql> extends TableReads<S> {
  get(id: string): Promise<MadeUp | null> {
    return table.one(this.sql, "WHERE id = ?", id);
  }
}
export class MadeUpWrites extends MadeUpReads<RowWriter> {
  insert(row: MadeUp): Promise<void> {
    return this.sql.insert(table, row, { taken: "it exists" });
  }
}
export const copy = async (read: StoreReads, tx: StoreTx): Promise<void> => {
  const row = await read.madeUps.get("x");
  if (row !== null) await tx.madeUps.insert(row);
};
`;

const changes: readonly Change[] = [
  {
    row: "a harness",
    name: "MadeUpFacts",
    edits: [
      [
        "packages/base/drivers/src/all.ts",
        "const all: readonly Harness[]",
        "type MadeUpFacts = { harness: string; program: null };\nexport const madeUp = (one: MadeUpFacts): HarnessFacts => one;\n",
      ],
    ],
    demands: ["packages/base/drivers/src/all.ts"],
  },
  {
    row: "a configuration key",
    name: "made_up_key",
    edits: [
      [
        "packages/daemon/project/src/config/schema.ts",
        "max_per_minute: positive",
        "made_up_key: positive.default(1), ",
      ],
    ],
    demands: ["packages/daemon/project/src/config/effects.ts"],
  },
  {
    row: "a driver option",
    name: "made_up_option",
    edits: [
      [
        "packages/base/drivers/src/cli-harness/options.ts",
        "  inactivity_minutes: z",
        "  made_up_option: z.number().default(1),\n",
      ],
    ],
    demands: ["packages/daemon/project/src/config/effects.ts"],
  },
  {
    row: "a column",
    name: "made_up_column",
    edits: [
      ["packages/base/contract/src/session.ts", "  title_source: titleSourceSchema", "  made_up_column: z.string(),\n"],
    ],
    demands: [
      "packages/core/sessions/src/new-session.ts",
      "packages/base/store/src/tables/sessions.ts",
      "test/helpers/rows.ts",
    ],
  },
  {
    row: "a table",
    name: "made_up_text",
    edits: [
      ["packages/base/store/src/tables/made-ups.ts", "", madeUpTable],
      [
        "packages/base/store/src/tables.ts",
        "import { MessageReads,",
        'import { MadeUpReads, MadeUpWrites } from "./tables/made-ups.ts";\n',
      ],
      [
        "packages/base/store/src/tables.ts",
        "  messages: { reads",
        "  madeUps: { reads: MadeUpReads, writes: MadeUpWrites },\n",
      ],
    ],
    // The mark of its text, and nothing anywhere else.
    demands: ["packages/base/store/src/tables/made-ups.ts"],
  },
  {
    row: "an endpoint",
    name: "madeUpRoute",
    edits: [
      [
        "packages/base/contract/src/routes.ts",
        "  listEvents: {",
        '  madeUpRoute: { method: "GET", path: "/v1/made-up" },\n',
      ],
      [
        "packages/base/contract/src/api.ts",
        "  listEvents: endpoint(",
        '  madeUpRoute: endpoint("", { output: z.unknown() }),\n',
      ],
    ],
    demands: ["packages/daemon/http/src/app.ts", "packages/daemon/http/src/where.ts"],
  },
  {
    row: "an event",
    name: "made.up",
    edits: [
      ["packages/base/contract/src/event.ts", '  "turn.started": z.object(', '  "made.up": z.object({ ...inTurn }),\n'],
    ],
    demands: ["packages/clients/cli/src/format/event-line.ts", "packages/clients/client/src/reduce.ts"],
  },
  {
    row: "a hook event",
    name: "on_made_up",
    edits: [
      ["packages/base/contract/src/hook.ts", '  on_enqueue: "observer",', '  on_made_up: "observer",\n'],
      ["packages/base/contract/src/hook.ts", "  on_enqueue: { queue", "  on_made_up: { text: string };\n"],
    ],
    demands: ["packages/core/plugin-api/src/testing/contexts.ts"],
  },
  {
    row: "a workflow primitive",
    name: "madeUpStep",
    edits: [
      [
        "packages/core/plugin-api/src/workflow-context.ts",
        "  sleep(seconds: number)",
        "  madeUpStep(text: string): Promise<void>;\n",
      ],
    ],
    demands: [
      "packages/core/plugin-api/src/testing/workflow-context.ts",
      "packages/core/plugins/src/worker/workflow-contexts.ts",
      "packages/core/workflows/src/workflow-context.ts",
    ],
  },
  {
    row: "a sender kind",
    name: "made_up_sender",
    edits: [
      [
        "packages/base/contract/src/message.ts",
        '  z.object({ kind: z.literal("substrate") })',
        '  z.object({ kind: z.literal("made_up_sender") }),\n',
      ],
    ],
    demands: [
      "packages/clients/client/src/views/words.ts",
      "packages/core/sessions/src/inbox/render.ts",
      "packages/core/sessions/src/inbox/why.ts",
    ],
  },
  {
    row: "a screen of the terminal app",
    name: "made_up_screen",
    edits: [["packages/clients/tui/src/ui.ts", '"session" | "dashboard"', '"made_up_screen" | ']],
    demands: ["packages/clients/tui/src/app.ts", "packages/clients/tui/src/keymap.ts"],
  },
  {
    row: "a channel for people",
    name: "made_up_channel",
    edits: [
      [
        "packages/daemon/project/src/config/schema.ts",
        "  telegram: z",
        "  made_up_channel: z.strictObject({ token_env: text.optional(), token_file: text.optional() }).optional(),\n",
      ],
      ["packages/daemon/project/src/config/schema.ts", '"telegram"] as const', '"made_up_channel", '],
    ],
    // The mark of its key is the row of a configuration key.
    demands: ["packages/daemon/daemon/src/build-channels.ts"],
  },
  {
    row: "a lifecycle part",
    name: "madeUpPart",
    edits: [["packages/daemon/daemon/src/build.ts", "    hooks: Hooks;", "    madeUpPart: { stop(): void };\n"]],
    demands: ["packages/daemon/daemon/src/build.ts"],
  },
  {
    // A part that does not say what it recovers, at a start and when it takes over from a lost node.
    row: "a lifecycle part",
    name: "MadeUpSteps",
    edits: [
      [
        "packages/daemon/daemon/src/parts.ts",
        "/** In a cluster, the parts of the node",
        "type MadeUpSteps = { name: string; start(): void };\nexport const madeUpPart = (one: MadeUpSteps): Part => one;\n",
      ],
    ],
    demands: ["packages/daemon/daemon/src/parts.ts"],
  },
];

/** The errors of the compiler, each with the lines that explain it. */
function errorsOf(output: string): { file: string; text: string }[] {
  const found: { file: string; text: string }[] = [];
  for (const line of output.split("\n")) {
    const file = /^([^(\s]+)\(\d+,\d+\): error /.exec(line)?.[1];
    const last = found.at(-1);
    if (file !== undefined) found.push({ file, text: line });
    else if (last !== undefined) last.text += `\n${line}`;
  }
  return found;
}

async function copyOfSource(): Promise<string> {
  const dir = await tempDir();
  const helper = join("test", "helpers", "rows.ts");
  await cp(join(root, "packages"), join(dir, "packages"), { recursive: true });
  await mkdir(dirname(join(dir, helper)), { recursive: true });
  await cp(join(root, helper), join(dir, helper));
  await cp(join(root, "package.json"), join(dir, "package.json"));
  // The copy's packages find each other, and everything else where the repository has it.
  await mkdir(join(dir, "node_modules", "@aegis"), { recursive: true });
  for (const name of await readdir(join(root, "node_modules")))
    if (name !== "@aegis") await symlink(join(root, "node_modules", name), join(dir, "node_modules", name));
  for (const group of await readdir(join(dir, "packages")))
    for (const name of await readdir(join(dir, "packages", group)))
      await symlink(join(dir, "packages", group, name), join(dir, "node_modules", "@aegis", name));
  const config = JSON.parse(await readFile(join(root, "tsconfig.json"), "utf8"));
  await writeFile(join(dir, "tsconfig.json"), JSON.stringify({ ...config, include: ["packages", helper] }));
  return dir;
}

async function compile(dir: string): Promise<string> {
  const tsc = join(root, "node_modules", ".bin", "tsc");
  // The copy keeps what tsc found for itself.
  const kept = ["--tsBuildInfoFile", "things.tsbuildinfo"];
  return run(tsc, ["--pretty", "false", "--noErrorTruncation", ...kept], {
    cwd: dir,
    maxBuffer: 64 * 1024 * 1024,
  }).then(
    () => "",
    (error: { stdout: string }) => error.stdout,
  );
}

async function edit(dir: string, [file, before, text]: Change["edits"][number]): Promise<void> {
  if (before === "") return writeFile(join(dir, file), text);
  const source = await readFile(join(dir, file), "utf8");
  if (!source.includes(before)) throw new Error(`${file} no longer has "${before}": adapt the change of this test`);
  await writeFile(
    join(dir, file),
    source.replace(before, () => text + before),
  );
}

// One compilation for all changes; each error starts with the made-up name that it comes from.
it("names in each row the files that the compiler asks for", { timeout: scaled(600_000) }, async () => {
  const dir = await copyOfSource();
  for (const change of changes) for (const one of change.edits) await edit(dir, one);
  const errors = errorsOf(await compile(dir));
  const page = await readFile(join(root, "ARCHITECTURE.md"), "utf8");
  const rows = new Map([...page.matchAll(/^\| (.+?) \| (.+) \|$/gm)].map(([, what = "", where = ""]) => [what, where]));
  for (const { row, name, edits, demands } of changes) {
    const asked = new Set(errors.filter(({ text }) => firstName(text) === name).map(({ file }) => file));
    expect.soft([...asked].sort(), `the compiler's demands for ${row}`).toEqual([...demands].sort());
    for (const file of [...edits.map(([edited]) => edited), ...demands])
      expect.soft(namesFile(rows.get(row) ?? "", file), `the row "${row}" names ${file}`).toBe(true);
  }
});

/** The change that an error comes from: the types that its text prints after that may have the names of others. */
function firstName(text: string): string | undefined {
  const found = changes.map(({ name }) => ({ name, at: text.indexOf(name) })).filter(({ at }) => at >= 0);
  return found.sort((a, b) => a.at - b.at)[0]?.name;
}

/** A row names a file by the end of its path, or by its folder with a placeholder: `packages/base/contract/src/<noun>.ts`. */
function namesFile(row: string, file: string): boolean {
  const places = [...row.matchAll(/`([^`\s]+\/[^`\s]*)`/g)].map(([, place = ""]) => place);
  return places.some((place) =>
    new RegExp(`(^|/)${place.replace(/[.]/g, "\\.").replace(/<[^>]+>/g, "[^/]+")}$`).test(file),
  );
}
