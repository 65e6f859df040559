import { tempDir } from "@aegis/test/helpers/temp-dir.ts";
import { expect, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import { Consent } from "../src/consent.ts";
import { silentLogger } from "../src/log.ts";
import { ownConsent } from "../src/own-consent.ts";
import { createProcesses } from "../src/process.ts";

const command = { argv: ["true"] as const, env: { PATH: process.env.PATH ?? "" }, cwd: "/" };

test("a consent is good for one start", async () => {
  const dir = await tempDir();
  const processes = createProcesses({
    ledgerFile: `${dir}/children`,
    owner: dir,
    clock: systemClock,
    log: silentLogger,
  });
  const consent = ownConsent("probe");
  await (await processes.start(command, consent)).exited;
  await expect(processes.start(command, consent)).rejects.toThrow("was used before");
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["what only looks like one", { what: "agent dev" }],
  ["one made from its prototype", Object.create(Consent.prototype)],
])("%s starts nothing", async (_, forged) => {
  const dir = await tempDir();
  const processes = createProcesses({
    ledgerFile: `${dir}/children`,
    owner: dir,
    clock: systemClock,
    log: silentLogger,
  });
  await expect(processes.start(command, forged as Consent)).rejects.toThrow("without a proof of consent");
});
