/** What a process uses, as Linux counts it. */
import { readFile } from "node:fs/promises";

export type Memory = {
  /** All pages in memory, those of the Node binary included. */
  rssMb: number;
  /** The same, with pages that several processes share divided among them. */
  pssMb: number;
  /** What it allocated itself. */
  anonMb: number;
};

const ticksPerSecond = 100;

export async function readMemory(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  const rollup = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
  return { rssMb: megabytes(status, "VmRSS"), pssMb: megabytes(rollup, "Pss"), anonMb: megabytes(status, "RssAnon") };
}

/** Processor time since the process began, in seconds. */
export async function readCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  // The name in the second field may hold spaces; the numbers are counted from behind it.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond;
}

function megabytes(text: string, field: string): number {
  const kilobytes = new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)?.[1];
  if (kilobytes === undefined) throw new Error(`the system tells no ${field} of a process`);
  return Number(kilobytes) / 1024;
}
