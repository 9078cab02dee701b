internal import Foundation

/// Processes of this machine, which leave marks in files.
package enum RunningProcess {
  /// Returns false only if the process certainly doesn't exist. One without access rights counts as running.
  package static func exists(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }
}
