// Decodes vector tiles with vtzero in rounds, as `Tests/TileDriver` does with Bothy's decoder.
//
// Its argument is a file of tiles, each behind its length in four bytes, the lowest first. A line of the standard input is
// a number of passes over all tiles. The answer is the seconds of the passes, then the sums of one pass: features,
// positions, coordinates, properties, bytes of text. Both programs keep all of a tile, so that it outlives its bytes.
#include <vtzero/vector_tile.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace {

using Line = std::vector<vtzero::point>;
using Lines = std::vector<Line>;
using Polygons = std::vector<Lines>;
using Shape = std::variant<std::monostate, Line, Lines, Polygons>;
using Value = std::variant<std::string, float, double, int64_t, uint64_t, bool>;

struct Feature {
  std::optional<uint64_t> id;
  Shape shape;
  std::vector<std::pair<uint32_t, uint32_t>> tags;
};

struct Layer {
  std::string name;
  uint32_t version;
  uint32_t extent;
  std::vector<std::string> keys;
  std::vector<Value> values;
  std::vector<Feature> features;
};

// Collects the shape of one feature. Rings without an area are left out.
class ShapeHandler {
 public:
  void points_begin(uint32_t count) { line_.reserve(count); }
  void points_point(vtzero::point point) { line_.push_back(point); }
  void points_end() { shape_ = std::move(line_); }

  void linestring_begin(uint32_t count) { begin(count); }
  void linestring_point(vtzero::point point) { line_.push_back(point); }
  void linestring_end() { lines_.push_back(std::move(line_)); }

  void ring_begin(uint32_t count) { begin(count); }
  void ring_point(vtzero::point point) { line_.push_back(point); }
  void ring_end(vtzero::ring_type type) {
    if (type == vtzero::ring_type::outer) {
      polygons_.emplace_back();
    } else if (type == vtzero::ring_type::invalid || polygons_.empty()) {
      return;
    }
    polygons_.back().push_back(std::move(line_));
  }

  Shape result() {
    if (!polygons_.empty()) return std::move(polygons_);
    if (!lines_.empty()) return std::move(lines_);
    return std::move(shape_);
  }

 private:
  void begin(uint32_t count) {
    line_ = Line();
    line_.reserve(count);
  }

  Shape shape_;
  Line line_;
  Lines lines_;
  Polygons polygons_;
};

Value value(const vtzero::property_value& found) {
  switch (found.type()) {
    case vtzero::property_value_type::string_value: return std::string(found.string_value());
    case vtzero::property_value_type::float_value: return found.float_value();
    case vtzero::property_value_type::double_value: return found.double_value();
    case vtzero::property_value_type::int_value: return found.int_value();
    case vtzero::property_value_type::uint_value: return found.uint_value();
    case vtzero::property_value_type::sint_value: return found.sint_value();
    default: return found.bool_value();
  }
}

std::vector<Layer> decode(const std::string& bytes) {
  std::vector<Layer> layers;
  vtzero::vector_tile tile{bytes};
  while (auto found = tile.next_layer()) {
    Layer layer{std::string(found.name()), found.version(), found.extent(), {}, {}, {}};
    for (const auto& key : found.key_table()) layer.keys.emplace_back(key);
    for (const auto& each : found.value_table()) layer.values.push_back(value(each));
    layer.features.reserve(found.num_features());
    while (auto each = found.next_feature()) {
      Feature feature;
      if (each.has_id()) feature.id = each.id();
      feature.tags.reserve(each.num_properties());
      while (auto pair = each.next_property_indexes()) {
        feature.tags.emplace_back(pair.key().value(), pair.value().value());
      }
      feature.shape = vtzero::decode_geometry(each.geometry(), ShapeHandler());
      layer.features.push_back(std::move(feature));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

struct Sums {
  int64_t features = 0, positions = 0, coordinates = 0, properties = 0, text = 0;

  void add(const Line& line) {
    positions += static_cast<int64_t>(line.size());
    for (const auto& point : line) coordinates += point.x + point.y;
  }
  void add(const Lines& lines) {
    for (const auto& line : lines) add(line);
  }
  void add(const Polygons& polygons) {
    for (const auto& rings : polygons) add(rings);
  }
  void add(std::monostate) {}

  void add(const Layer& layer) {
    features += static_cast<int64_t>(layer.features.size());
    for (const auto& feature : layer.features) {
      std::visit([this](const auto& shape) { add(shape); }, feature.shape);
      properties += static_cast<int64_t>(feature.tags.size());
      for (const auto& [key, place] : feature.tags) {
        text += static_cast<int64_t>(layer.keys[key].size());
        const auto* string = std::get_if<std::string>(&layer.values[place]);
        if (string) text += static_cast<int64_t>(string->size());
      }
    }
  }
};

std::vector<std::string> read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("the tiles cannot be read");
  const std::string all{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::vector<std::string> tiles;
  for (size_t place = 0; place + 4 <= all.size();) {
    uint32_t length = 0;
    for (int byte = 3; byte >= 0; byte--) length = length << 8 | static_cast<unsigned char>(all[place + byte]);
    tiles.push_back(all.substr(place + 4, length));
    place += 4 + length;
  }
  return tiles;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  try {
    const auto tiles = read(arguments[1]);
    Sums sums;
    for (const auto& tile : tiles) {
      for (const auto& layer : decode(tile)) sums.add(layer);
    }
    for (std::string line; std::getline(std::cin, line);) {
      const int passes = std::stoi(line);
      size_t layers = 0;
      const auto start = std::chrono::steady_clock::now();
      for (int pass = 0; pass < passes; pass++) {
        for (const auto& tile : tiles) layers += decode(tile).size();
      }
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (layers == 0) throw std::runtime_error("the tiles have no layers");
      std::printf(
        "%.9f %lld %lld %lld %lld %lld\n", spent.count(), static_cast<long long>(sums.features),
        static_cast<long long>(sums.positions), static_cast<long long>(sums.coordinates),
        static_cast<long long>(sums.properties), static_cast<long long>(sums.text));
      std::fflush(stdout);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "vtzero: %s\n", error.what());
    return 1;
  }
  return 0;
}
