import { driverSuite } from "../../suites/driver-suite.ts";
import { claudeUnderTest } from "./under-test.ts";

driverSuite("claude-code", claudeUnderTest());
