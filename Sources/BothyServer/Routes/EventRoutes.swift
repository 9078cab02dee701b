import HTTPTypes
import Hummingbird
import NIOCore
import ServiceLifecycle

/// The route of server-sent events. They report that a space has news for the caller, and nothing about what it is.
extension ServerServices {
  func eventRoutes() -> [Route] {
    [
      Route(
        method: .get, pattern: "/v1/spaces/{space}/events", operation: "events",
        summary: "A stream of `news` events; each means that a pull may bring something.",
        parameters: [
          .init(
            name: "Last-Event-ID", place: .header, schema: #"{"type":"string"}"#,
            about: "The id of the last event before a reconnect; news since then is told at once.")
        ],
        answers: [
          .init(status: 200, about: "The stream.", schema: "EventStream", type: "text/event-stream")
        ], handle: events)
    ]
  }

  private func events(_ call: ServerContext) async throws -> ServerResponse {
    let space = call.space
    let lastSeen = HTTPField.Name("Last-Event-ID").flatMap { call.headers[$0] }
    let user = asksForTokens ? call.user.name ?? "" : call.subject.peer ?? ""
    let seat = try seats.seat(of: user)
    let news = try await StreamNews(self, space: space, user: call.user, lastSeen: lastSeen)
    return ServerResponse(
      .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-store"],
      body: .stream { writer in
        defer { withExtendedLifetime(seat) {} }
        try await stream(news, call.admission, &writer)
        try await writer.finish(nil)
      })
  }

  /// Writes until the server stops, the caller leaves, its token ends, its space is closed or the task is cancelled.
  ///
  /// The end of a token or of an admission is detected before each notification, and with the next heartbeat at the
  /// latest. News that arrive within the interval after the last notification are combined into one at its end.
  private func stream(
    _ news: StreamNews, _ admission: AuthenticatedSession?, _ writer: inout any ResponseBodyWriter
  ) async throws {
    metrics.eventStreams(changeBy: 1)
    defer { metrics.eventStreams(changeBy: -1) }
    try await notifications.withSubscription(to: news.space) { subscription in
      try await withGracefulShutdownHandler {
        try await writer.write(ByteBuffer(string: ": open\nretry: 3000\n\n"))
        var news = news
        if news.mayHaveNews { subscription.notify(.news) }
        var pace = NotificationPace(interval: notificationInterval)
        while var signals = await subscription.next() {
          if signals.contains(.news), let moment = pace.moment(after: .now) {
            guard (try? await Task.sleep(until: moment)) != nil else { return }
            signals.formUnion(subscription.take())
          }
          guard await admission?.holds() ?? true else { return }
          let event = signals.contains(.news) ? await news.event() : nil
          // A look that finds nothing counts too, as it reads the storage.
          if signals.contains(.news) { pace.reported(at: .now) }
          guard event != nil || signals.contains(.heartbeat) else { continue }
          try await writer.write(ByteBuffer(string: event ?? ": alive\n\n"))
        }
      } onGracefulShutdown: {
        subscription.finish()
      }
    }
  }
}
