import ArgumentParser
import BothyCache
import BothyGeo
import Foundation
import HTTPTypes

/// A source as stored in the list. Its secrets and header values are used in requests and never printed.
struct SourceRecord: Codable {
  var id: String
  var template: String
  var hosts: [String] = []
  var highResolution = false
  var freshness = FreshnessRecord()
  var minzoom: Int?
  var maxzoom: Int?
  var name = ""
  var attribution = ""
  var allowsBulkDownload = false
  var userAgent: String?
  var headers: [Header] = []
  var secrets: [String: String] = [:]
  var ignoredQueryItems: [String] = []
  /// True if the address is that of a style, and the source has all that the style names.
  var isStyle = false

  struct Header: Codable {
    var name: String
    var value: String
  }

  init(id: String, template: String) {
    self.id = id
    self.template = template
  }

  /// Decodes a source. Missing members have their defaults.
  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    id = try values.decode(String.self, forKey: .id)
    template = try values.decode(String.self, forKey: .template)
    hosts = try values.decodeIfPresent([String].self, forKey: .hosts) ?? []
    highResolution = try values.decodeIfPresent(Bool.self, forKey: .highResolution) ?? false
    freshness = try values.decodeIfPresent(FreshnessRecord.self, forKey: .freshness) ?? FreshnessRecord()
    minzoom = try values.decodeIfPresent(Int.self, forKey: .minzoom)
    maxzoom = try values.decodeIfPresent(Int.self, forKey: .maxzoom)
    name = try values.decodeIfPresent(String.self, forKey: .name) ?? ""
    attribution = try values.decodeIfPresent(String.self, forKey: .attribution) ?? ""
    allowsBulkDownload = try values.decodeIfPresent(Bool.self, forKey: .allowsBulkDownload) ?? false
    userAgent = try values.decodeIfPresent(String.self, forKey: .userAgent)
    headers = try values.decodeIfPresent([Header].self, forKey: .headers) ?? []
    secrets = try values.decodeIfPresent([String: String].self, forKey: .secrets) ?? [:]
    ignoredQueryItems = try values.decodeIfPresent([String].self, forKey: .ignoredQueryItems) ?? []
    isStyle = try values.decodeIfPresent(Bool.self, forKey: .isStyle) ?? false
  }

  /// The user agent of a source that has none of its own.
  static let defaultUserAgent = "bothy/\(BothyCommand.configuration.version)"

  /// Returns the source of the addresses that belong to no other source. It accepts any content, like a proxy.
  static func ofAddresses() throws -> ResourceSource {
    try ResourceSource(
      SourceID("web"), address: .anywhere, userAgent: defaultUserAgent, content: ContentExpectation())
  }

  /// Returns the source for the cache. Throws `BothyError` or `ToolError` if the record isn't valid.
  func source() throws -> ResourceSource {
    guard id != "web" else {
      throw ToolError("The id web is taken: it means addresses without a source. Choose another.")
    }
    let authority = template.components(separatedBy: "://").dropFirst().first?.prefix {
      $0 != "/" && $0 != "?"
    }
    guard authority?.contains("@") != true else {
      throw ToolError(
        "Source \(id): an address is shown and logged, so it holds no password. Use --secret or --header.")
    }
    let (lowest, highest) = (minzoom ?? 0, maxzoom ?? 22)
    guard lowest <= highest else {
      throw ToolError("Source \(id): zooms go from low to high, not from \(lowest) to \(highest).")
    }
    var fields = HTTPFields()
    for header in headers {
      guard let name = HTTPField.Name(header.name), HTTPField.isValidValue(header.value) else {
        throw ToolError("Source \(id): '\(header.name)' isn't a header. Write \"Name: value\".")
      }
      fields.append(HTTPField(name: name, value: header.value))
    }
    if ArchiveFile.isNamed(template) { return try archive(fields) }
    return try ResourceSource(
      SourceID(id), address: isStyle ? .anywhere : .init(template: template, highResolution: highResolution),
      hosts: hosts, freshness: try freshness.made(),
      headers: fields, userAgent: userAgent ?? (fields[.userAgent] == nil ? Self.defaultUserAgent : nil),
      ignoredQueryItems: Set(ignoredQueryItems), secrets: secrets, zooms: lowest...highest,
      names: SourceNames(short: name, attribution: attribution), allowsBulkDownload: allowsBulkDownload)
  }

  /// Returns the source of an archive, whose file or address is in place of a template.
  private func archive(_ fields: HTTPFields) throws -> ResourceSource {
    guard hosts.isEmpty, fields.isEmpty || fields.count == 1 && fields.contains(.userAgent) else {
      throw ToolError("Source \(id): an archive has one address, and takes no hosts and headers.")
    }
    let zooms = try minzoom.map { try ZoomRange($0, maxzoom ?? 29) }
    let hasNames = !name.isEmpty || !attribution.isEmpty
    return try ResourceSource(
      SourceID(id), archive: template, freshness: try freshness.made(),
      userAgent: userAgent ?? fields[.userAgent] ?? Self.defaultUserAgent, secrets: secrets, zooms: zooms,
      names: hasNames ? SourceNames(short: name, attribution: attribution) : nil,
      allowsBulkDownload: allowsBulkDownload)
  }

  /// The terms of the provider, if it is well known.
  var terms: ProviderTerms? {
    let authority =
      template.components(separatedBy: "://").dropFirst().first?.prefix { $0 != "/" && $0 != ":" } ?? ""
    return ProviderTerms.of(host: authority.lowercased().replacing("{s}.", with: ""))
  }

  /// True if resources that were stored under one record are valid for the other.
  func hasSameResources(as other: SourceRecord) -> Bool {
    template == other.template && highResolution == other.highResolution && isStyle == other.isStyle
      && Set(ignoredQueryItems) == Set(other.ignoredQueryItems)
      && Set(secrets.keys) == Set(other.secrets.keys)
  }
}
