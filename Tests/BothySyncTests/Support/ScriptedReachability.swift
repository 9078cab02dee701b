import BothySync

/// A monitor that reports the states that a test sends.
final class ScriptedReachability: ReachabilityMonitor {
  private let stream: AsyncStream<SyncStatus.NetworkState>
  private let continuation: AsyncStream<SyncStatus.NetworkState>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func send(_ state: SyncStatus.NetworkState) { continuation.yield(state) }
  func states() -> AsyncStream<SyncStatus.NetworkState> { stream }
}
