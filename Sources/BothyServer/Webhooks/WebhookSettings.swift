/// The webhooks of a server, and the way to reach them.
///
/// They need a storage that keeps their progress. With another one the server logs an error and delivers
/// nothing.
public struct WebhookSettings: Sendable {
  /// The webhooks. Their names differ.
  public var webhooks: [Webhook]
  /// The keys that were read again since, if any.
  package let keys = WebhookKeys()
  /// The name of this process for claims of spaces. Processes on one storage have different names.
  public var holder: String
  /// True if this process is the only one on the storage, so that it keeps its claims. Each delivery then costs one
  /// write less. Such a process has the same `holder` after each start.
  public var isAlone: Bool
  /// The lock by which the process is alone, if it has one.
  private var lock: WebhookHolder?
  /// The number of spaces that are delivered to a webhook at a time, by default 8. After three failures in a
  /// row it is one.
  public var width = WebhookBounds().width
  /// The most changes of one delivery, by default 500.
  public var changes = WebhookBounds().changes
  /// The approximate number of bytes of the records of one delivery, by default 1 MiB.
  public var bytes = WebhookBounds().bytes
  /// The longest time for the response of a receiver, by default 10 seconds. A later one counts as a failure.
  public var timeout = WebhookBounds().timeout
  /// The time between two searches for spaces that no notification was received of, by default a minute.
  public var lookInterval: Duration = .seconds(60)
  /// The number of spaces of which a webhook remembers that they wait. Others are found again by a search.
  public var capacity = 1000
  /// The waits after failures: random times up to a minute.
  package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
  /// The clock that `timeout` is measured by.
  package var clock: any Clock<Duration> = ContinuousClock()
  /// Sends a request once, without following redirects. Throws without a response.
  ///
  /// Up to `width` requests run at a time for each webhook. It must end soon after its task is cancelled.
  public var send: @Sendable (OutboundRequest) async throws -> OutboundResponse

  /// Creates settings with the default limits.
  ///
  /// - Parameters:
  ///   - webhooks: the webhooks, with different names.
  ///   - holder: the name of this process, different from others on the storage.
  ///   - isAlone: true if no other process uses the storage.
  ///   - send: sends a request once, without following redirects.
  public init(
    _ webhooks: [Webhook], holder: String, isAlone: Bool,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    self.webhooks = webhooks
    self.holder = holder
    self.isAlone = isAlone
    self.send = send
  }

  /// Creates settings for a database that one process serves as a rule. They keep the holder's lock.
  package init(
    _ webhooks: [Webhook], holder: WebhookHolder,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    self.init(webhooks, holder: holder.name, isAlone: holder.isAlone, send: send)
    self.lock = holder
  }

  /// The length of a claim, in milliseconds: that of three deliveries.
  var lease: Int64 { 3 * Int64(timeout / .milliseconds(1)) }

  /// The part of a claim that has to be left when a delivery begins, in milliseconds.
  var margin: Int64 { lease / 2 }
}
