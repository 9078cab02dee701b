import BothyStore
import BothySyncService
import Crypto

/// One batch of changes for a webhook, made from a page of a space's feed. Pure.
struct WebhookDelivery: Sendable {
  let hook: Webhook
  let space: String
  let page: FeedPage
  /// The changes of the page that the webhook receives.
  let changes: [FeedChange]

  init(_ hook: Webhook, space: String, _ page: FeedPage) {
    (self.hook, self.space, self.page) = (hook, space, page)
    changes = hook.types.isEmpty ? page.changes : page.changes.filter { hook.types.contains($0.id.type) }
  }

  /// True if the receiver has nothing to learn from it.
  var isEmpty: Bool { changes.isEmpty && !page.isReset && !page.isIncomplete }

  /// The time of the oldest change, in milliseconds since 1970, or `nil` if no time is remembered.
  var oldest: Int64? { changes.lazy.compactMap(\.time).min() }

  /// The id. It depends on the webhook, the space and the positions alone, so a repetition has the same one.
  var id: String {
    let text = [hook.name, space, page.epoch, String(page.after), String(page.upTo)].joined(
      separator: "\u{0}")
    return SHA256.hash(data: Array(text.utf8)).prefix(16).hexadecimal
  }

  /// The JSON document: `id`, `hook`, `space` and the page.
  var body: [UInt8] {
    var shown = page
    shown.changes = changes
    var writer = JSONWriter(reserving: 4096)
    writer.object { writer in
      writer.member("id", id)
      writer.member("hook", hook.name)
      writer.member("space", space)
      shown.writeMembers(to: &writer)
    }
    return writer.bytes
  }

  /// Returns the signed request.
  ///
  /// - Parameter now: the time of the attempt, in milliseconds since 1970.
  func request(at now: Int64, timeout: Duration) -> OutboundRequest {
    let (id, body, time) = (id, body, now / 1000)
    var headers = RequestSignature.fields(id: id, time: time, body: body, keys: hook.keys)
    headers["Content-Type"] = ServerResponse.jsonType
    headers["User-Agent"] = "bothy"
    return OutboundRequest(url: hook.url, headers: headers, body: body, timeout: timeout)
  }
}

/// The meaning of a response to a delivery.
enum WebhookVerdict: Equatable {
  /// The receiver has it.
  case delivered
  /// The receiver has it not. With a duration, it is sent again after that at the earliest.
  case failed(wait: Duration?)
  /// The receiver wants no more deliveries.
  case gone

  /// The longest wait that a receiver may request.
  static let longestWait: Duration = .seconds(3600)

  /// Every status but 2xx and 410 is a failure, redirects too.
  init(_ response: OutboundResponse) {
    switch response.status {
    case 200...299: self = .delivered
    case 410: self = .gone
    default: self = .failed(wait: response.retryAfter.map { max(.zero, min($0, Self.longestWait)) })
    }
  }
}
