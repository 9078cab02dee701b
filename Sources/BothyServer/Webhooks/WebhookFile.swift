import BothyStore

public import struct Foundation.Data

/// A file of webhooks.
///
///     [{"name":"billing","url":"https://billing.example.org/bothy","secret":"billing.secret",
///       "types":["Invoice"],"spaces":["team-*"]}]
///
/// `secret` is the path of a file with the secret. `types`, `spaces` and `allowHTTP` may be missing.
public struct WebhookFile: Sendable {
  /// The webhooks, with different names.
  public let webhooks: [Webhook]

  /// Parses a file, and reads the secrets that it names.
  ///
  /// - Parameters:
  ///   - json: the bytes of the file, an array of objects.
  ///   - read: returns the bytes of a secret's file.
  /// - Throws: `JSONError` for text of another shape, `BothyError` `.invalidValue` for an invalid or repeated
  ///   entry, and the errors of `read`.
  public init(json: Data, read: (String) throws -> [UInt8]) throws {
    try self.init(json: Array(json), read: read)
  }

  /// Like `init(json:read:)` of `Data`, but for any bytes.
  package init(json: some ContiguousBytesSource, read: (String) throws -> [UInt8]) throws {
    var found: [Webhook] = []
    try JSONReader.read(json) { reader in
      try reader.array { found.append(try Self.webhook(&$0, read)) }
    }
    webhooks = found
    try Self.check(found)
  }

  /// Checks that the names of webhooks differ, as their progress is stored by name.
  ///
  /// - Throws: `BothyError` `.invalidValue` if two webhooks have one name.
  public static func check(_ webhooks: [Webhook]) throws {
    var names: Set<String> = []
    for webhook in webhooks where !names.insert(webhook.name).inserted {
      throw BothyError(.invalidValue, "Two webhooks have the name '\(webhook.name)'. Name each differently.")
    }
  }

  private static func webhook(
    _ reader: inout JSONReader, _ read: (String) throws -> [UInt8]
  ) throws -> Webhook {
    var (name, url, secret) = ("", String?.none, String?.none)
    var (types, spaces) = ([String](), [String]())
    var allowsHTTP = false
    try reader.object { member, reader in
      switch member {
      case "name": name = try reader.string()
      case "url": url = try reader.string()
      case "secret": secret = try reader.string()
      case "types": try reader.array { types.append(try $0.string()) }
      case "spaces": try reader.array { spaces.append(try $0.string()) }
      case "allowHTTP": allowsHTTP = try reader.bool()
      default: throw JSONError(reason: "a webhook has no member '\(member)'", offset: reader.offset)
      }
    }
    guard let url, let secret else {
      throw JSONError(reason: "a webhook needs 'name', 'url' and 'secret'", offset: reader.offset)
    }
    return try Webhook(
      name: name, url: url, secret: try read(secret), types: types, spaces: spaces, allowsHTTP: allowsHTTP)
  }
}
