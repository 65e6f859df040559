import { driverSuite } from "../../suites/driver-suite.ts";
import { codexUnderTest } from "./under-test.ts";

driverSuite("codex", codexUnderTest());
