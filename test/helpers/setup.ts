/** Runs before each test file: sets its deadlines by how busy the machine is now. */
import { vi } from "vitest";
import { makeFetchPatient } from "./patient-fetch.ts";
import { scaled } from "./slowness.ts";

vi.setConfig({ testTimeout: scaled(30_000), hookTimeout: scaled(60_000) });
await makeFetchPatient();
