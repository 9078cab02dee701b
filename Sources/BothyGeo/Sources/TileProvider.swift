package import BothyCache
internal import Foundation
package import HTTPTypes

/// A provider of tiles: the form of its addresses, and the settings of all its styles.
///
/// One with the template `https://{s}.hills.example/{style}/{z}/{x}/{y}.png` has a source for each style:
/// `provider.source(style: "outdoors")`.
package struct TileProvider: Sendable {
  private let name: String
  private let template: String
  private let describe: @Sendable (SourceID, String) throws(BothyError) -> ResourceSource

  /// Describes a provider. The address is checked when a source is created.
  ///
  /// - Parameters:
  ///   - name: the first part of the ids of its sources. The developer chooses it and must never change it.
  ///   - template: an address with `{z}`, `{x}` and `{y}`, or other placeholders of `ResourceSource`. `{style}` is
  ///     replaced by a style.
  ///   - hosts: the values of `{s}` in the address. All hosts serve the same tiles, so the host isn't part of a key.
  ///
  /// The other settings are those of `ResourceSource`.
  package init(
    _ name: String, template: String, hosts: [String] = [], highResolution: Bool = false,
    freshness: FreshnessRule = .http, headers: HTTPFields = [:], userAgent: String? = nil,
    limits: SourceLimits = SourceLimits(), content: ContentExpectation? = nil,
    secrets: [String: String] = [:],
    zooms: ClosedRange<Int> = 0...22, names: SourceNames = SourceNames(), allowsBulkDownload: Bool = false
  ) {
    self.name = name
    self.template = template
    describe = { (id, template) throws(BothyError) in
      try ResourceSource(
        id, template: template, hosts: hosts, highResolution: highResolution, freshness: freshness,
        headers: headers, userAgent: userAgent, limits: limits, content: content, secrets: secrets,
        zooms: zooms, names: names, allowsBulkDownload: allowsBulkDownload)
    }
  }

  private static let plain = CharacterSet(
    charactersIn: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")

  /// Returns the source of the tiles in one style, with the id `name/style`, or `name` without styles.
  ///
  /// All hosts share its identity, and no other style does.
  ///
  /// - Throws: `BothyError` `invalidSource` if a style is given but the address has no `{style}`, or the reverse.
  package func source(style: String = "") throws(BothyError) -> ResourceSource {
    guard template.contains("{style}") != style.isEmpty else {
      throw BothyError(
        .invalidSource,
        style.isEmpty
          ? "The address of \(name) has {style}: say which style."
          : "The address of \(name) has no place for the style '\(style)': write {style} where it belongs.")
    }
    let text = style.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? style
    return try describe(
      SourceID(style.isEmpty ? name : "\(name)/\(style)"), template.replacing("{style}", with: text))
  }
}
