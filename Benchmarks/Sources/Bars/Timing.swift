internal import Foundation

/// Returns the seconds that some work takes.
package func seconds(_ work: () throws -> Void) rethrows -> Double {
  let start = ContinuousClock.now
  try work()
  return start.duration(to: .now) / .seconds(1)
}

/// Returns the processor time of this process so far, in seconds. A busy machine changes it little.
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

/// Prints the load of the machine, because figures of a busy one are less reliable.
package func printLoad(_ moment: String) {
  var loads = [0.0, 0.0, 0.0]
  guard getloadavg(&loads, 3) == 3 else { return }
  print("load \(moment): \(loads[0].short) on \(ProcessInfo.processInfo.activeProcessorCount) processors")
}

/// A folder for one run. It is deleted when the run is done.
package struct RunFolder {
  package let path: String

  package init(_ name: String) throws {
    let base = ProcessInfo.processInfo.environment["BOTHY_BENCH_FOLDER"] ?? NSTemporaryDirectory()
    path = "\(base)/\(name)-\(getpid())"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  package func remove() {
    try? FileManager.default.removeItem(atPath: path)  // the system cleans it up on failure
  }
}

/// An error that ends a benchmark.
package struct BenchmarkError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}
