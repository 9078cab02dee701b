import BothySync

/// A monitor that reports the states that a test sends.
final class ScriptedReachability: ReachabilityMonitor {
  private let stream: AsyncStream<NetworkState>
  private let continuation: AsyncStream<NetworkState>.Continuation

  init() { (stream, continuation) = AsyncStream.makeStream() }

  func send(_ state: NetworkState) { continuation.yield(state) }
  func states() -> AsyncStream<NetworkState> { stream }
}
