/** Installs or removes a skill and kills itself right before the given step. Run by the test beside it. */
import { appendFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { copyTree } from "../../../../src/lib/safe-tree.ts";
import {
  type Disk,
  installPlaces,
  makeStage,
  putInPlace,
  realDisk,
  stagedTree,
  takeAway,
} from "../../../../src/runtime/skills/install/activation.ts";

const [root = "", action = "", from = "", dieAt = "", steps = ""] = process.argv.slice(2);
let step = 0;

/** Each step is counted before it is made. */
function counted<A extends unknown[], R>(name: string, work: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
  return async (...args) => {
    if (step++ === Number(dieAt)) process.kill(process.pid, "SIGKILL");
    appendFileSync(steps, `${name}\n`);
    return work(...args);
  };
}

const disk: Disk = {
  write: counted("write", realDisk.write),
  rename: counted("rename", realDisk.rename),
  writeLock: counted("lock", realDisk.writeLock),
  remove: counted("remove", realDisk.remove),
};

const place = installPlaces(root, `${root}/.aegis/state`, `${root}/home`).project;
if (action === "remove") await takeAway(place, "pdf", disk);
else {
  const stage = await makeStage(place);
  await mkdir(stagedTree(stage));
  await copyTree(from, stagedTree(stage));
  const entry = { name: "pdf", source: from, version: null, commit: null, hash: action, installed_at: "now" };
  await putInPlace(place, stage, "pdf", entry, disk);
}
