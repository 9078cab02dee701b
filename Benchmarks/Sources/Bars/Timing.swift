internal import Foundation

/// The seconds that some work takes.
package func seconds(_ work: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try work()
  return start.duration(to: .now) / .seconds(1)
}

/// The seconds that the processors have worked for this process so far: what a busy machine does not change much.
package func processorSeconds() -> Double {
  var time = timespec()
  guard clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0 else { return 0 }
  return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

package func seconds(_ work: () async throws -> Void) async rethrows -> Double {
  let start = ContinuousClock.now
  try await work()
  return start.duration(to: .now) / .seconds(1)
}

/// Says how busy the machine is: figures of a busy one are worth less.
package func printLoad(_ moment: String) {
  var loads = [0.0, 0.0, 0.0]
  guard getloadavg(&loads, 3) == 3 else { return }
  print("load \(moment): \(loads[0].short) on \(ProcessInfo.processInfo.activeProcessorCount) processors")
}

/// A folder for one run, to be removed when the run is done.
package struct RunFolder {
  package let path: String

  package init(_ name: String) throws {
    let base = ProcessInfo.processInfo.environment["BOTHY_BENCH_FOLDER"] ?? NSTemporaryDirectory()
    path = "\(base)/\(name)-\(getpid())"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func remove() {
    try? FileManager.default.removeItem(atPath: path)  // left to the system's own clean-up
  }
}

/// What a benchmark cannot go on after.
package struct BenchmarkError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
