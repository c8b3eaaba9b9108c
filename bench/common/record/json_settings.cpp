#include "linkgain/record/record_json.hpp"

namespace linkgain::json {

Out write_settings(const Settings& settings) {
  const auto write_variant = [](const Variant& variant) {
    return Out{{"name", variant.name}, {"environment", variant.environment}};
  };
  Out out{{"argv", settings.argv},
          {"backend", name_of(settings.backend)},
          {"profile", settings.profile},
          {"schedule", settings.schedule},
          {"variants", array_of(settings.variants, write_variant)},
          {"environment_in_force", settings.environment_in_force},
          {"launches", settings.launches},
          {"precision", settings.precision},
          {"budget_s", nullable(seconds_of(settings.budget))},
          {"sample_target_s", settings.sample_target.value},
          {"require_healthy", settings.require_healthy}};
  if (settings.training) {
    out["training"] = {{"steps", settings.training->steps}, {"tokens", settings.training->tokens}};
  }
  return out;
}

Settings read_settings(const In& json) {
  Settings settings;
  settings.argv = json.at("argv").get<std::vector<std::string>>();
  settings.backend = parse_backend(json.at("backend").get<std::string>());
  settings.profile = json.at("profile");
  settings.schedule = json.at("schedule");
  settings.variants = vector_of<Variant>(json.at("variants"), [](const In& variant) {
    return Variant{variant.at("name"), variant.at("environment").get<Environment>()};
  });
  settings.environment_in_force = json.at("environment_in_force").get<std::vector<Environment>>();
  settings.launches = json.at("launches");
  settings.precision = json.at("precision");
  if (const auto budget = optional_at<double>(json, "budget_s")) settings.budget = Seconds{*budget};
  settings.sample_target = Seconds{json.at("sample_target_s")};
  settings.require_healthy = optional_at<bool>(json, "require_healthy").value_or(false);
  if (const In* training = member_of(json, "training")) {
    settings.training = TrainingPlan{training->at("steps"), training->at("tokens")};
  }
  return settings;
}

}  // namespace linkgain::json
