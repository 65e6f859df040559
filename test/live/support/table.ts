/** The table of what each harness can do: made from what runs saw and what drivers claim, kept in `docs/drivers.md`. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { createAcpDriver } from "@aegis/drivers/acp/driver.ts";
import { gemini } from "@aegis/drivers/acp/recipes/gemini.ts";
import { opencode } from "@aegis/drivers/acp/recipes/opencode.ts";
import { createClaudeCodeDriver } from "@aegis/drivers/claude-code/driver.ts";
import { createCodexDriver } from "@aegis/drivers/codex/driver.ts";
import type { Capabilities, Driver, DriverDeps } from "@aegis/drivers/driver.ts";
import { createNativeDriver } from "@aegis/drivers/native/driver.ts";
import { createScriptedDriver } from "@aegis/drivers/scripted/driver.ts";
import { systemClock } from "@aegis/lib/clock.ts";
import { silentLogger } from "@aegis/lib/log.ts";
import { createProcesses } from "@aegis/lib/process.ts";
import type { Seen, Sight } from "./record.ts";
import { claims, type Row, rows } from "./rows.ts";

export const page = fileURLToPath(new URL("../../../docs/drivers.md", import.meta.url));
export const begin = "<!-- made by test/live/support/write-table.ts -->";
export const end = "<!-- end of the table -->";

/** Cells of one column by the text of their row. */
export type Column = Record<string, string>;

const titles: Record<string, string> = {
  "claude-code": "Claude Code",
  codex: "Codex",
  gemini: "Gemini CLI",
  opencode: "OpenCode",
  native: "native",
  scripted: "scripted",
};
export const liveNames = ["claude-code", "codex", "gemini", "opencode"];
const inProcess = ["native", "scripted"];

export function columnOf(seen: Seen): Column {
  const sights = Object.keys(rows).map((row) => [rows[row as Row], cell(seen.sights[row as Row])]);
  return { version: seen.version, ...claimed(seen.harness), ...Object.fromEntries(sights) };
}

export function renderTable(seen: readonly Seen[]): string {
  const columns = [...seen.map((one) => [one.harness, columnOf(one)] as const), ...inProcess.map(inProcessColumn)];
  const names = ["version", ...Object.values(claims), ...Object.values(rows)];
  return [
    `| | ${columns.map(([name]) => titles[name] ?? name).join(" | ")} |`,
    `|---|${columns.map(() => "---|").join("")}`,
    ...names.map((name) => `| ${name} | ${columns.map(([, column]) => column[name] ?? "–").join(" | ")} |`),
  ].join("\n");
}

/** The column of a harness as the page has it. */
export async function committedColumn(harness: string): Promise<Column> {
  const lines = between(await readFile(page, "utf8"))
    .trim()
    .split("\n");
  const [heads = [], , ...body] = lines.map((line) => line.split("|").map((text) => text.trim()));
  const at = heads.indexOf(titles[harness] ?? harness);
  return Object.fromEntries(body.map((cells) => [cells[1] ?? "", cells[at] ?? ""]));
}

export function between(text: string): string {
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`${page} has no place for the table`);
  return text.slice(from + begin.length, to);
}

/** What runs inside the daemon has no process that could die, and no CLI whose version counts. */
function inProcessColumn(name: string): readonly [string, Column] {
  return [name, { ...claimed(name), version: "built in", [claims.mcp]: "without it" }];
}

function claimed(harness: string): Column {
  const able = capabilitiesOf(harness);
  return Object.fromEntries(
    (Object.keys(claims) as (keyof typeof claims)[]).map((key) => [claims[key], claim(able[key])]),
  );
}

/** The machines on which a conversation can resume. */
const machines = { anywhere: "on every node", here: "on its machine" } as const;

function claim(able: Capabilities[keyof Capabilities]): string {
  return cell(typeof able === "string" ? machines[able] : able);
}

export function capabilitiesOf(harness: string): Capabilities {
  const driver = drivers().find((one) => one.harness === harness);
  if (driver === undefined) throw new Error(`no driver of ${harness}`);
  return driver.capabilities;
}

function drivers(): Driver[] {
  const processes = createProcesses({ ledgerFile: "", owner: "", clock: systemClock, log: silentLogger });
  const deps: DriverDeps = { env: {}, processes, clock: systemClock, log: silentLogger };
  return [
    createClaudeCodeDriver(deps),
    createCodexDriver(deps),
    createAcpDriver(deps, gemini),
    createAcpDriver(deps, opencode),
    createNativeDriver({ ...deps, models: {} }),
    createScriptedDriver(deps),
  ];
}

function cell(sight: Sight | undefined): string {
  if (sight === undefined) return "–";
  if (typeof sight === "string") return sight;
  return sight ? "yes" : "no";
}
