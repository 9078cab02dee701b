import ArgumentParser
import BothyServer
import Foundation

/// The options of `bothy serve` for spans: a collector or a file.
struct TraceOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Send spans to an OpenTelemetry collector, such as http://localhost:4318; each request and transaction has one.",
      valueName: "URL"))
  var otlp: String?
  @Option(
    help: ArgumentHelp(
      "Append spans to a file instead: a document of OTLP's JSON a line.", valueName: "file"),
    completion: .file())
  var traces: String?

  func validate() throws {
    guard otlp == nil || traces == nil else { throw ValidationError("Give --otlp or --traces, not both.") }
    guard let otlp else { return }
    let address = URL(string: otlp)
    guard ["http", "https"].contains(address?.scheme), address?.host()?.isEmpty == false else {
      throw ValidationError("--otlp is the address of a collector, such as http://localhost:4318.")
    }
    _ = try Self.headers(ProcessInfo.processInfo.environment["OTEL_EXPORTER_OTLP_HEADERS"] ?? "")
  }

  /// Sets the tracer. Throws for a file that can't be written.
  func set(_ configuration: inout ServerConfiguration) throws {
    if let traces { configuration.tracer = try TraceFile.writer(appendingTo: traces) }
    guard let otlp else { return }
    let environment = ProcessInfo.processInfo.environment
    let exporter = TraceExporter(
      endpoint: otlp, headers: try Self.headers(environment["OTEL_EXPORTER_OTLP_HEADERS"] ?? ""),
      service: environment["OTEL_SERVICE_NAME"] ?? "bothy", logger: configuration.logger,
      send: OutboundTransport().send)
    configuration.traces = exporter
    configuration.tracer = exporter.tracer
  }

  /// Reads fields such as `api-key=abc,tenant=1`, whose values may be percent-encoded.
  static func headers(_ text: String) throws -> [String: String] {
    var headers: [String: String] = [:]
    for part in text.split(separator: ",") {
      let pair = part.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      guard pair.count == 2, !pair[0].isEmpty, let value = pair[1].removingPercentEncoding else {
        throw ValidationError("OTEL_EXPORTER_OTLP_HEADERS has the form name=value,name=value.")
      }
      headers[pair[0]] = value
    }
    return headers
  }
}
