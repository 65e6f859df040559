/** W2: kills at random moments. What the world saw afterwards tells what was done twice and what not at all. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { median } from "../measure.ts";
import type { Arena } from "./arena.ts";
import { type PeerName, stepsPerRun } from "./peer.ts";
import { table } from "./table.ts";

/** Long enough for a kill to hit the inside of a step now and then. */
const stepMs = 2;
const longestLifeMs = 120;

export async function crashes(arena: Arena): Promise<void> {
  const { peers, quick, folder, say, progress } = arena;
  const kills = quick ? 5 : 200;
  const rows: string[][] = [];
  for (const peer of peers) {
    const dir = await folder(peer, "crash");
    const { begun, cut, resumeMs } = await killAgainAndAgain(arena, peer, dir, kills);
    const { repeated, lost } = await judge(dir, begun);
    const row = [
      peer,
      `${kills}`,
      `${cut}`,
      `${begun.size}`,
      `${begun.size * stepsPerRun}`,
      `${repeated}`,
      `${lost}`,
      resumeMs.length === 0 ? "-" : `${median(resumeMs).toFixed(0)} ms`,
    ];
    progress(row.join(" | "));
    rows.push(row);
  }
  const columns = ["engine", "kills", "runs cut", "runs", "effects", "done again", "lost", "start to caught up"];
  say(table(`W2, SIGKILL at random moments in steps of ${stepMs} ms`, columns, rows));
}

async function killAgainAndAgain(
  { start, progress }: Arena,
  peer: PeerName,
  dir: string,
  kills: number,
): Promise<{ begun: Set<string>; cut: number; resumeMs: number[] }> {
  const begun = new Set<string>();
  const ended = new Set<string>();
  let cut = 0;
  const resumeMs: number[] = [];
  /** A run whose end was recorded, but not told before the kill, counts as cut. */
  const unfinished = () => [...begun].filter((run) => !ended.has(run));
  for (let kill = 0; kill < kills; kill++) {
    if (kill % 20 === 0) progress(`${peer}: ${kill} of ${kills} kills`);
    const subject = start(peer, dir, { stepMs });
    await subject.heard("open");
    const owed = unfinished();
    subject.tell({ do: "crash", unfinished: owed });
    await subject.heard(owed.length > 0 ? "resumed" : "begun");
    await delay(Math.random() * longestLifeMs);
    await subject.kill();
    for (const report of subject.reports) {
      if (report.told === "begun") begun.add(report.run);
      if (report.told === "ended") ended.add(report.run);
      if (report.told === "resumed") resumeMs.push(report.ms);
    }
    cut += unfinished().length;
  }
  const last = start(peer, dir, { stepMs });
  await last.obey({ do: "finish", ids: unfinished() });
  await last.kill();
  return { begun, cut, resumeMs };
}

async function judge(dir: string, begun: ReadonlySet<string>): Promise<{ repeated: number; lost: number }> {
  const seen = new Map<string, number>();
  for (const line of (await readFile(join(dir, "effects"), "utf8")).split("\n")) {
    if (line !== "") seen.set(line, (seen.get(line) ?? 0) + 1);
  }
  let repeated = 0;
  let lost = 0;
  for (const run of begun) {
    for (let step = 0; step < stepsPerRun; step++) {
      const times = seen.get(`${run} ${step}`) ?? 0;
      if (times === 0) lost++;
      else repeated += times - 1;
    }
  }
  return { repeated, lost };
}
