/** Prints how many megabytes a bare worker adds to a process that does nothing else: one that has freed some would hide it. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { readMemory } from "../process-use.ts";

const most = 10;
const before = (await readMemory(process.pid)).rssMb;
for (let made = 0; made < most; made++) await once(new Worker(new URL("worker.mjs", import.meta.url)), "message");
process.stdout.write(String(((await readMemory(process.pid)).rssMb - before) / most));
process.exit(0);
