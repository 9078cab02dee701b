import ArgumentParser
import BothyStore

/// The formats of records to import.
enum ImportFormat: String, CaseIterable, ExpressibleByArgument {
  case jsonl, json, csv, geojson

  /// Creates the format of a file extension, by default JSON lines.
  init(fileName: String) {
    let ending = fileName.split(separator: ".").last.map { $0.lowercased() } ?? ""
    self = ImportFormat(rawValue: ending) ?? (ending == "ndjson" ? .jsonl : .jsonl)
  }

  /// Returns the records of a file. JSON lines and CSV are read line by line, the other two completely.
  func source(_ path: String, _ reader: RecordReader) throws -> RecordSource {
    switch self {
    case .jsonl: return RecordSource(try JSONLinesReader(LineReader(path), reader).next)
    case .csv: return RecordSource(try CSVRecordReader(LineReader(path), reader).next)
    case .json: return RecordSource(try Self.elements(of: StandardStreams.read(path), reader))
    case .geojson:
      let features = try FeatureReader.features(of: StandardStreams.read(path))
      return RecordSource(FeatureReader(records: reader).records(features))
    }
  }

  private static func elements(of bytes: [UInt8], _ reader: RecordReader) throws -> [() throws -> AnyRecord] {
    let document: JSONValue
    do { document = try JSONValue(parsing: Array(bytes.afterByteOrderMark())) } catch {
      throw ToolError("The file is not JSON. \(error) For one record a line use --format jsonl.")
    }
    let elements = document.arrayValue ?? document["records"]?.arrayValue
    guard let elements else {
      throw ToolError("The file must hold a JSON array of records. For one record a line use --format jsonl.")
    }
    return elements.enumerated().map { index, json in
      { try Located.at("Record \(index + 1)") { try reader.record(json).record } }
    }
  }
}

/// An asynchronous sequence of records, created on demand.
struct RecordSource: AsyncSequence, AsyncIteratorProtocol {
  private let make: () throws -> AnyRecord?

  init(_ make: @escaping () throws -> AnyRecord?) { self.make = make }

  init(_ makers: [() throws -> AnyRecord]) {
    var rest = makers[...]
    make = { try rest.popFirst()?() }
  }

  func makeAsyncIterator() -> RecordSource { self }

  mutating func next() async throws -> AnyRecord? { try make() }
}

/// Adds the position in a file to errors.
enum Located {
  static func at<Result>(_ place: @autoclosure () -> String, _ body: () throws -> Result) throws -> Result {
    do { return try body() } catch { throw ToolError("\(place()): \(ErrorMessage(error).sentence)") }
  }
}
