import BothySync
import Synchronization

/// A monitor that says what a test says.
final class ScriptedReachability: ReachabilityMonitor {
  private let stream: AsyncStream<NetworkStatus>
  private let continuation: AsyncStream<NetworkStatus>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func send(_ status: NetworkStatus) { continuation.yield(status) }
  func statuses() -> AsyncStream<NetworkStatus> { stream }
}
