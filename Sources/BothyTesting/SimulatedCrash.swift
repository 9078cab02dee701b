/// The error of a simulated end of the process, as by SIGKILL. Restart the device to continue from the committed data.
///
/// Writes of the device throw it from the step of `crash(at:)` on. All errors of this type are equal.
public struct SimulatedCrash: Error, Hashable, CustomStringConvertible {
  /// Creates an error. All errors of this type are equal, so a test can compare them with a thrown error.
  package init() {}
  /// Names the remedy: a restart of the device.
  public var description: String { "The process ended here. Restart the device to go on." }
}
