import { defineConfig } from "vitest/config";
import { BudgetReporter, budgetVariable, parseBudget } from "./test/helpers/budget.ts";

/** Tests about the file of the embedded database; they do not run with `AEGIS_TEST_STORE=postgres`. */
const embeddedOnly = [
  "state-foreign",
  "state-links",
  "state-lock",
  "state-own-changed",
  "state-own-start",
  "state-own",
  "store-loss",
  "upgrade",
].map((name) => `test/behaviour/${name}.test.ts`);

const budget = process.env[budgetVariable];

export default defineConfig({
  // The plugins that ship import "aegis", a name that only tsconfig.json knows here: the package is called aegis-agents.
  resolve: { tsconfigPaths: true },
  test: {
    include: ["test/**/*.test.ts", "packages/*/*/test/**/*.test.ts"],
    exclude: [
      "test/live/**",
      "**/node_modules/**",
      ...(process.env.AEGIS_TEST_STORE === "postgres" ? embeddedOnly : []),
    ],
    // `npm test` leaves them out, `npm run test:all` runs them too.
    tags: [{ name: "slow", description: "Dear proof of a promise that a quicker case of `npm test` holds as well." }],
    ...(budget === undefined ? {} : { reporters: ["default", new BudgetReporter(parseBudget(budget))] }),
    globalSetup: ["test/helpers/global-setup.ts"],
    // Sets testTimeout and hookTimeout, by how busy the machine is.
    setupFiles: ["test/helpers/setup.ts"],
    // Behaviour tests start real daemons. One file more than cores uses the time in which others wait for a disk.
    maxWorkers: 3,
    pool: "forks",
    // See packages/daemon/daemon/src/main.ts: tests run plugins in threads of their own process.
    execArgv: ["--wasm-wrapper-tiering-budget=1000000000"],
    // Nothing has state of its own beside what a test makes, so that files can follow each other in one process.
    isolate: false,
  },
});
