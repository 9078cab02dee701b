import BothyStore
import BothySyncService
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle

/// The routes for back ends: the changes of a space with their records, and the spaces with their heads.
extension ServerServices {
  /// The most spaces of one answer.
  static let spacesLimit = 1000
  /// The most spaces of one answer to a token that names its spaces. Each costs a read.
  private static let namedLimit = 100

  func feedRoutes() -> [Route] {
    [
      Route(
        method: .get, pattern: "/v1/spaces", operation: "listSpaces",
        summary:
          "The spaces with changes that a back end may read, by name, with the ends of their histories.",
        parameters: [
          .init(
            name: "after", place: .query, schema: #"{"type":"string","maxLength":128}"#,
            about: "Only spaces after this name: `next` of the page before."),
          .init(
            name: "limit", place: .query, schema: #"{"type":"integer","minimum":1,"maximum":1000}"#,
            about: "The most spaces wanted."),
        ],
        answers: [.init(status: 200, about: "The spaces.", schema: "FeedSpaces")], handle: listSpaces),
      Route(
        method: .get, pattern: "/v1/spaces/{space}/feed", operation: "feed",
        summary: "The changes of a space in the order of their commits, with records, for back ends.",
        parameters: [
          .init(
            name: "after", place: .query, schema: #"{"type":"string"}"#,
            about: "The cursor of the page before; without it, from the start."),
          .init(
            name: "limit", place: .query, schema: #"{"type":"integer","minimum":1,"maximum":1000}"#,
            about: "The most changes wanted."),
          .init(
            name: "wait", place: .query, schema: #"{"type":"integer","minimum":1,"maximum":30}"#,
            about: "How many seconds to wait for a change if the page has none yet."),
        ],
        answers: [.init(status: 200, about: "A page.", schema: "FeedPage")], handle: feed),
    ]
  }

  /// Throws `HTTPFailure` 403 for callers that aren't back ends. A server that requires no token admits every caller
  /// if it has a feed.
  private func checkBackEnd(_ call: ServerContext) throws {
    if let feedGroup, !asksForTokens || call.user.groups.contains(feedGroup) { return }
    throw HTTPFailure(
      .forbidden, "forbidden", "The feed is for back ends: users of the group that the server names.",
      reason: "feed")
  }

  private func feed(_ call: ServerContext) async throws -> ServerResponse {
    try checkBackEnd(call)
    let limit = try call.query.positive("limit") ?? SyncService.feedLimit
    let wait = try call.query.positive("wait").map { min($0, FeedWaits.longest) } ?? 0
    let page = try await service(within: call.room).feed(
      space: call.space, after: call.query["after"], limit: limit)
    guard wait > 0, !page.hasNews else { return .json(page.json) }
    guard feedWaits.hasRoom else {
      throw HTTPFailure.unavailable("Too many back ends wait for changes. Read again later.")
    }
    let (space, admission, room, channel) = (call.space, call.admission, call.room, call.channel)
    // The wait is a part of the body, so that it takes no turn from other requests.
    return ServerResponse(
      .ok, headers: [.contentType: ServerResponse.jsonType],
      body: .stream { writer in
        defer { withExtendedLifetime(room) {} }
        let news = await feedWaits.counting {
          await self.news(space, after: page, limit: limit, within: .seconds(wait), admission, room)
        }
        var json = news.json
        // A page that has no room isn't sent, and its changes come with the next.
        if json.count > BodyReader.small, let room, !room.hold.takeWhole(json.count) { json = page.json }
        try await writer.write(ByteBuffer(bytes: json), to: channel)
        try await writer.finish(nil)
      })
  }

  /// Returns the next page with changes, or the page itself at the end of the wait or of the token.
  private func news(
    _ space: String, after page: FeedPage, limit: Int, within wait: Duration,
    _ admission: AuthenticatedSession?, _ room: AnswerRoom?
  ) async -> FeedPage {
    await notifications.withSubscription(to: space) { subscription in
      let timer = Task {
        try? await Task.sleep(for: wait)  // cancelled when a change came
        subscription.finish()
      }
      defer { timer.cancel() }
      return await withGracefulShutdownHandler {
        do {
          repeat {
            let found = try await service(within: room).feed(
              space: space, after: page.cursor, limit: limit)
            if found.hasNews { return found }
          } while await Self.isReported(subscription, admission)
        } catch {
          logger.warning(
            "a wait for changes failed",
            metadata: ["space": "\(LogText.safe(space))", "error": "\(LogText.safe("\(error)"))"])
        }
        return page
      } onGracefulShutdown: {
        subscription.finish()
      }
    }
  }

  /// Waits for a notification. Returns false at the end of the wait, or if the token no longer opens the space.
  private static func isReported(
    _ subscription: ChangeNotifier.Subscription, _ admission: AuthenticatedSession?
  )
    async -> Bool
  {
    while let signals = await subscription.next() {
      guard signals.contains(.news) else { continue }
      return await admission?.holds() ?? true
    }
    return false
  }

  private func listSpaces(_ call: ServerContext) async throws -> ServerResponse {
    try checkBackEnd(call)
    let after = call.query["after"] ?? ""
    var limit = min(try call.query.positive("limit") ?? Self.spacesLimit, Self.spacesLimit)
    var found: [SpaceHead] = []
    var next: String?
    if let named = try await call.spaces(), !named.contains("*") {
      limit = min(limit, Self.namedLimit)
      let names = named.filter { $0 > after }.sorted()
      let page = names.prefix(limit)
      if page.count < names.count { next = page.last }
      for name in page {
        let head = try await service.storage.read(space: name) {
          FeedPosition(epoch: $0.epoch, position: $0.head)
        }
        if head.position > 0 { found.append(SpaceHead(space: name, head: head)) }
      }
    } else if let feeds {
      found = try await feeds.heads(after: after, limit: limit)
      if found.count == limit { next = found.last?.space }
    }
    let (spaces, more) = (found, next)
    return ServerResponse.object { writer in
      writer.list("spaces", spaces) { writer, space in
        writer.member("space", space.space)
        writer.member("epoch", space.head.epoch)
        writer.member("head", space.head.position)
      }
      if let more { writer.member("next", more) }
    }
  }
}

extension FeedPage {
  /// True if a waiting reader has something to learn.
  fileprivate var hasNews: Bool { !changes.isEmpty || more || isReset || isIncomplete }

  fileprivate var json: [UInt8] {
    var writer = JSONWriter(reserving: 4096)
    writer.object { writeMembers(to: &$0) }
    return writer.bytes
  }
}
