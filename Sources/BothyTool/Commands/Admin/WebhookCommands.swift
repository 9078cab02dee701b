import ArgumentParser
import BothyStore
import BothySync
import BothySyncService

/// `bothy admin webhooks`: the progress of webhooks, and the place where one continues.
struct WebhooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "webhooks",
    abstract: "Shows how far webhooks are, and sets where one continues.",
    discussion: """
      A webhook's progress belongs to its name, in each space. A new one begins with
      all that is there; to begin with what comes from now on, skip before the server
      starts with it.

      Example:  bothy admin webhooks list --database server.sqlite
                bothy admin webhooks skip --database server.sqlite billing --all
                bothy admin webhooks rewind --database server.sqlite billing home
      """,
    subcommands: [
      ListWebhooksCommand.self, SkipWebhookCommand.self, RewindWebhookCommand.self,
    ])
}

extension AdminSession {
  /// The storage as the one of webhooks.
  fileprivate func feeds() throws -> any FeedStorage {
    guard let feeds = storage as? any FeedStorage else {
      throw ToolError("This database keeps no progress of webhooks.")
    }
    return feeds
  }

  /// Visits the states of a webhook in all spaces, a page at a time.
  fileprivate func forEachState(
    of hook: String, _ body: (WebhookState) async throws -> Void
  ) async throws {
    let feeds = try feeds()
    var place = ""
    while case let page = try await feeds.states(of: hook, after: place, limit: 500), let last = page.last {
      for state in page { try await body(state) }
      place = last.head.space
    }
  }
}

/// `bothy admin webhooks list`: lists the spaces in which a webhook is behind.
struct ListWebhooksCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists what webhooks still have to deliver.",
    discussion: """
      Only spaces with something to deliver, unless --all is given. `behind` counts
      positions, about as many as changes.

      Example:  bothy admin webhooks list --database server.sqlite --all
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "Only this webhook.") var webhook: String?
  @Flag(help: "All spaces, also those in which everything is delivered.") var all = false
  @OptionGroup var output: OutputOptions

  private struct Found {
    var webhook: String
    var state: WebhookState
  }

  func run() async throws {
    try await AdminSession.with(served) { session in
      var found: [Found] = []
      let names = if let webhook { [webhook] } else { try await session.feeds().webhooks() }
      for name in names {
        try await session.forEachState(of: name) { state in
          if all || state.isBehind { found.append(Found(webhook: name, state: state)) }
        }
      }
      try output.print {
        var table = TextTable(["webhook", "space", "position", "behind", "failures", "last delivery"])
        for entry in found {
          let progress = entry.state.progress
          let time = Timestamp(milliseconds: progress.deliveredAt)
          table.add([
            entry.webhook, entry.state.head.space, "\(progress.position.position)",
            entry.state.isBehind ? "\(entry.state.lag)" : "0", "\(progress.failures)",
            progress.deliveredAt == 0 ? "none" : time.rfc3339,
          ])
        }
        return table.text(empty: names.isEmpty ? "No webhooks." : "Everything is delivered.")
      } json: { writer in
        writer.list("webhooks", found) { writer, entry in
          let progress = entry.state.progress
          writer.member("webhook", entry.webhook)
          writer.member("space", entry.state.head.space)
          writer.member("position", progress.position.position)
          writer.member("head", entry.state.head.head.position)
          writer.member("behind", entry.state.isBehind ? entry.state.lag : 0)
          writer.member("failures", progress.failures)
          writer.member("delivered", progress.deliveredAt == 0 ? nil : progress.deliveredAt)
        }
      }
    }
  }
}

/// `bothy admin webhooks skip`: sets webhooks to the present ends of spaces.
struct SkipWebhookCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "skip", abstract: "Leaves out what a webhook has not delivered yet.",
    discussion: "Example:  bothy admin webhooks skip --database server.sqlite billing home")

  @OptionGroup var served: ServedOptions
  @OptionGroup var chosen: PlacedWebhook
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      let spaces = try await chosen.place(session) { $0.head.head }
      try chosen.tell(spaces, output) { "Set \(chosen.webhook) to the end of \($0) spaces." }
    }
  }
}

/// `bothy admin webhooks rewind`: delivers the records of spaces again.
struct RewindWebhookCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rewind", abstract: "Delivers spaces again, from the start or from a position.",
    discussion: "Example:  bothy admin webhooks rewind --database server.sqlite billing home --to 120")

  @OptionGroup var served: ServedOptions
  @OptionGroup var chosen: PlacedWebhook
  @Option(help: ArgumentHelp("The position after which it continues.", valueName: "position")) var to: Int64?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard to.map({ $0 >= 0 }) ?? true else { throw ValidationError("--to is a position, 0 or above.") }
  }

  func run() async throws {
    try await AdminSession.with(served) { session in
      guard try await session.feeds().webhooks().contains(chosen.webhook) else {
        throw ToolError(
          "No server with this database has delivered to a webhook '\(chosen.webhook)'. "
            + "`bothy admin webhooks list --all` names those that have progress.")
      }
      let spaces = try await chosen.place(session) { state in
        guard let to, to > 0 else { return .start }
        let present = state.progress.position
        guard present.epoch != state.head.head.epoch || to <= present.position else {
          throw ToolError(
            "\(chosen.webhook) is at \(present.position) in \(state.head.space), before \(to). "
              + "`bothy admin webhooks skip` leaves changes out.")
        }
        return FeedPosition(epoch: state.head.head.epoch, position: min(to, state.head.head.position))
      }
      try chosen.tell(spaces, output) { "Set \(chosen.webhook) back in \($0) spaces." }
    }
  }
}

/// The webhook and the spaces of a command that sets its place.
struct PlacedWebhook: ParsableArguments {
  @Argument(help: "The webhook's name; that of --webhook is webhook.") var webhook: String
  @Argument(help: "The spaces.") var spaces: [String] = []
  @Flag(help: "All spaces.") var all = false

  func validate() throws {
    guard spaces.isEmpty == all else { throw ValidationError("Name spaces, or give --all.") }
  }

  /// Sets the webhook's place in each space. Returns the number of spaces.
  fileprivate func place(
    _ session: AdminSession, at position: (WebhookState) throws -> FeedPosition
  ) async throws -> Int {
    let feeds = try session.feeds()
    var count = 0
    func place(_ state: WebhookState) async throws {
      try await feeds.place(webhook, in: state.head.space, at: position(state))
      count += 1
    }
    if all { try await session.forEachState(of: webhook, place) }
    if !all { _ = try await session.spaces(spaces) }
    for space in spaces {
      if let state = try await feeds.state(of: webhook, in: space) { try await place(state) }
    }
    return count
  }

  fileprivate func tell(_ spaces: Int, _ output: OutputOptions, _ text: (Int) -> String) throws {
    try output.print {
      text(spaces)
    } json: { writer in
      writer.member("webhook", webhook)
      writer.member("spaces", spaces)
    }
  }
}
