import BothyTestSupport
import BothyTesting

/// The first request that a device sends, held back until a test releases it.
struct HeldRequest {
  private let began: AsyncStream<Void>
  private let end: AsyncStream<Void>.Continuation

  init(of device: SimulatedDevice) {
    let (began, begin) = AsyncStream<Void>.makeStream()
    let (held, end) = AsyncStream<Void>.makeStream()
    (self.began, self.end) = (began, end)
    let calls = Calls()
    device.remote.setBeforeSending { _ in
      guard calls.add() == 1 else { return }
      begin.finish()
      for await _ in held {}
    }
  }

  /// Waits until the request is on its way.
  func waitUntilSent() async { for await _ in began {} }

  func release() { end.finish() }
}
