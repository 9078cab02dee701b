import ArgumentParser
import BothyCache
import BothyStore

/// `bothy source terms`: prints the terms of use of well-known providers.
struct SourceTermsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "terms",
    abstract: "Prints what well-known providers of maps allow.",
    discussion: """
      They are a summary of each provider's page when this version was made; the
      page decides. A region of a provider that forbids to load in bulk is refused.
      Rates and the days to keep a copy apply to all sources of the provider's
      hosts.

      Example:  bothy source terms
                bothy source terms openstreetmap --json
      """)

  @Argument(help: "A provider; all without one.") var name: String?
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let found = ProviderTerms.known.filter { name == nil || $0.name == name }
    guard !found.isEmpty else {
      let known = ProviderTerms.known.map(\.name).joined(separator: ", ")
      throw ToolError("The terms of '\(name ?? "")' aren't known here. Known: \(known).")
    }
    try output.print {
      var table = TextTable(
        ["provider", "hosts", "bulk", "a second", "a month", "kept", "page"], whole: ["page"])
      for terms in found {
        table.add([
          terms.name, terms.hosts.joined(separator: " "), terms.bulk.rawValue,
          terms.requestsPerSecond.map { "\($0)" } ?? "-",
          terms.requestsPerMonth.map { "\($0)" } ?? "-", terms.leastDays.map { "\($0) days" } ?? "-",
          terms.page,
        ])
      }
      return table.text(empty: "") + (found.count == 1 ? "\n\(found[0].remark)" : "")
    } json: { writer in
      writer.list("providers", found) { writer, terms in
        writer.member("name", terms.name)
        writer.names("hosts", terms.hosts)
        writer.member("bulk", terms.bulk.rawValue)
        writer.member("requestsPerSecond", terms.requestsPerSecond)
        writer.member("requestsPerMonth", terms.requestsPerMonth)
        writer.member("leastDays", terms.leastDays)
        writer.member("lastZoom", terms.lastZoom)
        writer.member("page", terms.page)
        writer.member("remark", terms.remark)
      }
    }
  }
}
