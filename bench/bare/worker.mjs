// A worker that does nothing but answer: what every plugin with code costs at least.
import { parentPort } from "node:worker_threads";

parentPort.on("message", (message) => parentPort.postMessage(message));
parentPort.postMessage("up");
