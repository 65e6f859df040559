/** `npm run fuzz [-- --seconds N] [--seed N]`: throws random input at parsers until the time is over. */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { headerProperties } from "./skill-headers.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "30" }, seed: { type: "string" } } });
const seconds = Number(values.seconds);
const seed = values.seed === undefined ? Date.now() % 2 ** 31 : Number(values.seed);
if (!(seconds > 0) || !Number.isInteger(seed)) throw new Error("expected --seconds and --seed to be numbers");

// The first page costs the generator seconds, which are not to be taken from the first property.
for (const { property } of headerProperties) fc.sample(property, 1);

const eachMs = (seconds * 1000) / headerProperties.length;
for (const { name, property } of headerProperties) {
  let runs = 0;
  const counted: typeof property = Object.assign(Object.create(property), {
    run: (value: [string]) => {
      runs += 1;
      return property.run(value);
    },
  });
  const limits = { interruptAfterTimeLimit: eachMs, markInterruptAsFailure: false, numRuns: Number.MAX_SAFE_INTEGER };
  const found = fc.check(counted, { seed, ...limits });
  process.stdout.write(`${found.failed ? "FAILED" : "ok"}  ${name} (${runs} pages, seed ${seed})\n`);
  if (!found.failed) continue;
  process.stdout.write(`${fc.defaultReportMessage(found)}\n`);
  process.exitCode = 1;
}
