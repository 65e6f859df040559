import { defineConfig } from "vitest/config";

/** The real agent CLIs against fake model servers on loopback. Install them first: npm ci in this folder. */
export default defineConfig({
  test: {
    include: ["test/live/**/*.live.test.ts"],
    exclude: ["**/node_modules/**"],
    globalSetup: ["test/helpers/global-setup.ts"],
    testTimeout: 120_000,
    hookTimeout: 60_000,
    // Each CLI takes a core of its own while it starts, and waits otherwise.
    maxWorkers: 2,
    pool: "forks",
  },
});
