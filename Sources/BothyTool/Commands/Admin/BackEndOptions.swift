import ArgumentParser
import BothyServer
import BothyStore
import Foundation

/// The options of `bothy serve` for back ends: the feed and the webhooks.
struct BackEndOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Users of this group may read the feed: all changes and records of the spaces that their tokens open, "
        + "whatever the permissions say.", valueName: "name"))
  var feedGroup: String?
  @Option(
    help: ArgumentHelp(
      "Send the changes of spaces to this address; needs --webhook-secret.", valueName: "URL"))
  var webhook: String?
  @Option(
    help: ArgumentHelp(
      "The file with the secret that deliveries are signed with: 24 bytes at least, a line for each secret.",
      valueName: "file"), completion: .file())
  var webhookSecret: String?
  @Option(
    help: ArgumentHelp("Only changes of these types, with commas between them.", valueName: "types"))
  var webhookTypes: String?
  @Option(
    parsing: .singleValue,
    help: ArgumentHelp(
      "Only these spaces; * is any text, as in team-*. May be repeated.", valueName: "pattern"))
  var webhookSpaces: [String] = []
  @Flag(
    name: .customLong("webhook-allow-http"),
    help: "Take a --webhook with http:// on another machine; others can read the records on the way.")
  var webhookAllowHTTP = false
  @Option(
    help: ArgumentHelp(
      "Several webhooks: a JSON file with name, url, secret (a file), types and spaces of each.",
      valueName: "file"), completion: .file())
  var webhooks: String?

  func validate() throws {
    guard (webhook == nil) == (webhookSecret == nil) else {
      throw ValidationError("--webhook and --webhook-secret go together.")
    }
    guard webhook != nil || webhookTypes == nil && webhookSpaces.isEmpty && !webhookAllowHTTP else {
      throw ValidationError("--webhook-types, --webhook-spaces and --webhook-allow-http need --webhook.")
    }
    guard feedGroup.map({ !$0.isEmpty && !$0.hasPrefix("group:") }) ?? true else {
      throw ValidationError("--feed-group is the name of a group, without 'group:'.")
    }
  }

  /// Sets the feed and the webhooks. Throws for a file that can't be used.
  ///
  /// - Parameter database: the database that is served. On SQLite, a file beside it says which process delivers.
  func set(
    _ configuration: inout ServerConfiguration, _ limits: WebhookBounds, database: String
  ) throws {
    configuration.feedGroup = feedGroup
    var paths: [String] = []
    let found = try all(noting: &paths)
    guard !found.isEmpty else { return }
    // With fewer connections, webhooks with one host would wait for each other's slow receivers.
    let transport = OutboundTransport(connections: limits.width * found.count)
    var settings: WebhookSettings
    if ServedStorage.isPostgres(database) {
      settings = WebhookSettings(found, holder: UUIDv7.make(), isAlone: false, send: transport.send)
    } else {
      let file = URL(filePath: database).resolvingSymlinksInPath().path
      settings = WebhookSettings(
        found, holder: WebhookHolder(lock: file + "-webhooks"), send: transport.send)
    }
    (settings.width, settings.changes) = (limits.width, limits.changes)
    (settings.bytes, settings.timeout) = (limits.bytes, limits.timeout)
    configuration.webhooks = settings
    let (options, keys) = (self, settings.keys)
    configuration.watchedFiles.append(
      WatchedFiles(paths, subject: "the secret of a webhook") {
        var paths: [String] = []
        keys.take(try options.all(noting: &paths))
      })
  }

  /// Reads the webhooks, and notes the paths of their files.
  private func all(noting paths: inout [String]) throws -> [Webhook] {
    var found: [Webhook] = []
    if let webhook, let webhookSecret {
      paths.append(webhookSecret)
      let types = webhookTypes?.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) } ?? []
      found.append(
        try Webhook(
          url: webhook, secret: StandardStreams.read(webhookSecret), types: types, spaces: webhookSpaces,
          allowsHTTP: webhookAllowHTTP))
    }
    if let webhooks {
      let folder = URL(filePath: webhooks).deletingLastPathComponent()
      paths.append(webhooks)
      do {
        let file = try WebhookFile(json: StandardStreams.read(webhooks)) { path in
          let path = URL(filePath: path, relativeTo: folder).path
          paths.append(path)
          return try StandardStreams.read(path)
        }
        found += file.webhooks
      } catch let error as JSONError {
        throw ToolError("The webhooks file \(webhooks) can't be used: \(error)")
      }
    }
    try WebhookFile.check(found)
    return found
  }
}
